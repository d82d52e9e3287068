import Glibc
import Trellis

/// A destination that bytes are written to as they come, unbuffered: standard output, a device, a pipe.
struct ByteSink: Sendable {
    private let descriptor: CInt
    private let name: String

    static let standardOutput = ByteSink(descriptor: STDOUT_FILENO, name: "standard output")

    /// Opens a device or a pipe; waits until the pipe has a reader.
    ///
    /// - Parameter limit: The longest time to wait for a reader; `nil`: until the task is cancelled.
    static func open(_ path: String, within limit: Duration?) async throws -> ByteSink {
        try await withThrowingTaskGroup(of: ByteSink.self) { group in
            group.addTask {
                try await offThePoolUnlessCancelled {
                    let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
                    guard descriptor >= 0 else { throw RequestFailure("file", "\(path): \(systemError())") }
                    return ByteSink(descriptor: descriptor, name: path)
                }
            }
            if let limit {
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw RequestFailure("timeout_deadline", "timed out after \(limit) waiting for a reader of \(path)")
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    /// A Boolean value: the destination is a terminal, which a person reads.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Writes all bytes, however long the reader takes.
    ///
    /// - Throws: ``ReaderHasGone``; ``RequestFailure`` if the system refuses, for example because the disk is full.
    func write(_ bytes: some ContiguousBytes & Sendable) async throws {
        try await offThePool {
            try bytes.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = Glibc.write(descriptor, Self.start(of: rest), rest.count)
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

    private static func start(of bytes: Slice<UnsafeRawBufferPointer>) -> UnsafeRawPointer? {
        UnsafeRawBufferPointer(rebasing: bytes).baseAddress
    }

    /// Waits until a non-blocking descriptor takes more bytes; throws if the last error was another one than `EAGAIN`.
    private func waitOrThrow() throws {
        guard errno == EAGAIN else { throw RequestFailure("file", "\(name): \(systemError())") }
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&polled, 1, -1)
    }
}
