private import Glibc

/// The reason that a file, a folder or a lock cannot be used, in words.
package struct FileFailure: Error, Hashable, Sendable {
    /// The reason, as part of a sentence about the file.
    package let why: String

    /// Creates a failure.
    package init(why: String) { self.why = why }

    /// The failure of a file that has fewer bytes than were announced.
    package static let shrunk = FileFailure(why: "it became shorter while it was read")

    /// The failure of the last system call, from `errno`.
    static var system: FileFailure { FileFailure(why: unsafe String(cString: strerror(errno))) }
}
