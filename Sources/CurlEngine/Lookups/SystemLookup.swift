private import Glibc

/// The lookup of a name by the system (`getaddrinfo`), which blocks the calling thread.
package enum SystemLookup {
    /// The reason why the system has no addresses, in its words.
    package struct Failure: Error {
        /// The message.
        package let message: String
    }

    /// The threads for the lookups of engines. Each session has its bound on them (``LookupLimit``), and files have other threads.
    static let threads = BlockingThreads("trellis-lookup", limit: .max)

    /// Returns the addresses of a name in the system's order, without duplicates.
    ///
    /// - Parameters:
    ///   - family: The versions of IP that are looked up.
    ///   - keepsScopes: Whether link-local addresses of an interface are among the result. A route cannot have their scope.
    package static func addresses(
        of name: String, family: TransferRoute.Family = .any, keepsScopes: Bool = false
    ) -> Result<[IPAddress], Failure> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_family =
            switch family {
            case .any: AF_UNSPEC
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            }
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            let message = unsafe gai_strerror(code).map { unsafe String(cString: $0) }
            return .failure(Failure(message: message ?? "error \(code)"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe address(entry.pointee), keepsScopes || address.scope == 0,
                !addresses.contains(address)
            {
                addresses.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return .success(addresses)
    }

    @unsafe private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let name = unsafe entry.ai_addr else { return nil }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = unsafe getnameinfo(name, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        let literal = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard code == 0, var address = IPAddress(literal) else { return nil }
        if unsafe entry.ai_family == AF_INET6 {
            address.scope = unsafe UnsafeRawPointer(name).loadUnaligned(as: sockaddr_in6.self).sin6_scope_id
        }
        return address
    }
}
