import Glibc
import Trellis

/// Standard output, unbuffered.
enum StandardOutput {
    /// Writes all of it, however long the reader takes.
    ///
    /// - Throws: ``ReaderHasGone``; ``RequestFailure`` if the system refuses, for example because the disk is full.
    static func write(_ bytes: some ContiguousBytes & Sendable) async throws {
        try await offThePool {
            try bytes.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = Glibc.write(STDOUT_FILENO, start(of: rest), rest.count)
                    if count >= 0 {
                        rest = rest.dropFirst(count)
                    } else if errno == EPIPE {
                        throw ReaderHasGone()
                    } else if errno != EINTR {
                        try waitOrThrow()
                    }
                }
            }
        }
    }

    /// Writes a text as UTF-8.
    static func write(_ text: String) async throws { try await write(Array(text.utf8)) }

    private static func start(of bytes: Slice<UnsafeRawBufferPointer>) -> UnsafeRawPointer? {
        UnsafeRawBufferPointer(rebasing: bytes).baseAddress
    }

    /// A descriptor that someone has made non-blocking is waited for; anything else is a failure.
    private static func waitOrThrow() throws {
        guard errno == EAGAIN else { throw RequestFailure("file", "standard output: \(systemError())") }
        var polled = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        poll(&polled, 1, -1)
    }
}
