import Glibc
import Trellis

/// A destination to which bytes are written as they arrive, unbuffered: standard output, a device, a pipe.
struct ByteSink: Sendable {
    private let descriptor: CInt
    private let name: String

    static let standardOutput = ByteSink(descriptor: STDOUT_FILENO, name: "standard output")

    /// Opens a device or a pipe, and waits until the pipe has a reader.
    ///
    /// - Parameter limit: The longest time to wait for a reader; `nil` if the wait has no limit but the cancellation of the task.
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

    /// Whether the destination is a terminal, on which a person reads.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Writes all bytes, without a limit on the time that the reader takes.
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

    /// Waits until a non-blocking descriptor can take more bytes. Throws an error if the last error was not `EAGAIN`.
    private func waitOrThrow() throws {
        guard errno == EAGAIN else { throw RequestFailure("file", "\(name): \(systemError())") }
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&polled, 1, -1)
    }
}
