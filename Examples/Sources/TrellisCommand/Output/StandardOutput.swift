import Glibc
import Trellis

/// The standard output, unbuffered.
enum StandardOutput {
    /// Writes all bytes, without a limit on the time that the reader takes.
    ///
    /// - Throws: The errors of ``ByteSink/write(_:)``.
    static func write(_ bytes: some ContiguousBytes & Sendable) async throws {
        try await ByteSink.standardOutput.write(bytes)
    }

    /// Writes a text as UTF-8.
    static func write(_ text: String) async throws { try await write(Array(text.utf8)) }
}
