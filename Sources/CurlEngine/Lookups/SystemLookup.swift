private import Glibc

/// The lookup of a name by the system (`getaddrinfo`), which blocks the calling thread.
package enum SystemLookup {
    /// The reason why the system has no addresses, in its words.
    package struct Failure: Error {
        /// The message.
        package let message: String
    }

    /// Returns the addresses of a name in the system's order, without duplicates.
    ///
    /// - Parameter family: The versions of IP that are looked up.
    package static func addresses(
        of name: String, family: TransferRoute.Family = .any
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
            if let address = unsafe address(entry.pointee), !addresses.contains(address) { addresses.append(address) }
            unsafe next = entry.pointee.ai_next
        }
        return .success(addresses)
    }

    @unsafe private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let name = unsafe entry.ai_addr else { return nil }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = unsafe getnameinfo(name, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        let literal = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        // A link-local address needs its zone, which a route cannot have.
        return code == 0 && !literal.containsBytes("%") ? IPAddress(literal) : nil
    }
}
