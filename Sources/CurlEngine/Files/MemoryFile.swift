import CCurl
private import Glibc
private import Synchronization

/// A file in memory, for libraries that read files only. It has a path as long as the object exists.
package final class MemoryFile: Sendable {
    private let descriptor: Int32
    /// The number of the file among all.
    private let number: Int
    private static let count = Atomic(0)

    /// The path of the file.
    package var path: String { "/proc/self/fd/\(descriptor)" }

    /// A path of the file that no other file has ever had; `nil` if files have no paths here.
    var readablePath: String? {
        unsafe access(path, R_OK) == 0 ? SystemAuthorities.Version.spelling(number, of: path) : nil
    }

    /// Creates a file with these bytes; `nil` if the system has no memory or no descriptor for it.
    package init?(_ bytes: [UInt8]) {
        descriptor = ccurl_memory_file()
        number = Self.count.add(1, ordering: .relaxed).newValue
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
