import CCurl
private import Glibc

/// A file in memory, for libraries that read files only. It has a path as long as the object exists.
package final class MemoryFile: Sendable {
    private let descriptor: Int32

    /// The path of the file.
    package var path: String { "/proc/self/fd/\(descriptor)" }

    /// Creates a file with these bytes; `nil` if the system has no memory or no descriptor for it.
    package init?(_ bytes: [UInt8]) {
        descriptor = ccurl_memory_file()
        guard descriptor >= 0 else { return nil }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            // The end of the object closes the descriptor.
            guard count > 0 else { return nil }
            rest = rest.dropFirst(count)
        }
    }

    deinit { close(descriptor) }
}
