private import Glibc

/// The reason that a file, a folder or a lock cannot be used, in words.
package struct FileError: Error, Hashable, Sendable {
    /// The reason, as part of a sentence about the file.
    package let reason: String

    /// Creates a failure.
    package init(reason: String) { self.reason = reason }

    /// The failure of a file that has fewer bytes than were announced.
    package static let shrunk = FileError(reason: "it became shorter while it was read")

    /// The failure of the last system call, from `errno`.
    static var system: FileError { FileError(reason: unsafe String(cString: strerror(errno))) }
}
