private import Glibc

/// A file to which the secrets of TLS connections are appended, in the format of NSS (`SSLKEYLOGFILE`), which tools such as Wireshark read.
package final class KeyLogFile: Sendable {
    let descriptor: Int32

    /// Opens or creates a file, which only its owner can read if it is created.
    package init(path: String) throws(FileError) {
        guard !path.utf8.contains(0) else { throw FileError(reason: "its path contains a NUL byte") }
        descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system }
    }

    deinit { close(descriptor) }
}
