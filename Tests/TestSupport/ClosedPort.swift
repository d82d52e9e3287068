import Glibc

/// A port of 127.0.0.1 that refuses connections. It stays reserved until the end of the process, so that no server of another process that
/// runs at the same time gets it.
package struct ClosedPort: Sendable {
    /// A failure of the system.
    package struct Failure: Error {
        package let code: CInt
    }

    package let port: Int

    package init() throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The socket is bound, and does not listen.
        let isBound = unsafe withUnsafeMutableBytes(of: &name) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { name in
                let address = unsafe name.baseAddress.unsafelyUnwrapped
                return unsafe bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw Failure(code: errno) }
        port = Int(UInt16(bigEndian: name.sin_port))
    }

    /// Returns a URL with the port.
    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }
}
