import Glibc

/// A Unix domain socket that takes no further connection: nothing accepts, and its queue is full.
final class FullSocket: Sendable {
    /// A failure of the system.
    struct Failure: Error {
        /// The results of bind(2), listen(2) and connect(2).
        let results: [CInt]
    }

    private let descriptors: [CInt]

    /// Binds the socket to a path, of at most 107 bytes, and fills its queue.
    init(at path: String) throws {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { room in unsafe room.copyBytes(from: bytes) }
        _ = unsafe unlink(path)
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let listener = socket(AF_UNIX, kind, 0)
        let client = socket(AF_UNIX, kind, 0)
        descriptors = [listener, client]
        let results = unsafe withUnsafeMutableBytes(of: &name) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { name in
                let address = unsafe name.baseAddress.unsafelyUnwrapped
                let length = socklen_t(MemoryLayout<sockaddr_un>.size)
                // The queue has room for one connection.
                return unsafe [
                    bind(listener, address, length), listen(listener, 0), connect(client, address, length),
                ]
            }
        }
        guard results == [0, 0, 0] else { throw Failure(results: results) }
    }

    deinit { for descriptor in descriptors { _ = close(descriptor) } }
}
