import Glibc
import Trellis

/// A file that grows at its end.
final class AppendedFile {
    private let descriptor: CInt

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        try expect(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
    }

    deinit { close(descriptor) }

    /// Writes all of it.
    func append(_ bytes: Data) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            try expect(count >= 0 || errno == EINTR, String(cString: strerror(errno)))
            rest = rest.dropFirst(max(0, count))
        }
    }
}
