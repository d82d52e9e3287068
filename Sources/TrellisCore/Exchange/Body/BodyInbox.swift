import CurlEngine
import FoundationEssentials

/// The buffer of a response's body. The engine thread fills it, and one reader empties it at its own pace.
///
/// Bytes that arrive while the reader is busy are joined, so that a fast body is delivered in few large chunks. Above ``highWater`` the
/// transfer is paused until the reader has taken half of the bytes. A stream therefore holds at most ``highWater`` bytes, the chunk that is
/// being read, and the bytes that the engine has read already. Their memory, blocks of 256 KiB, is mostly full, and about three
/// times as large at most: a chunk that the engine has not copied fills half of its block, and copied bytes before it may fill less.
final class BodyInbox: Sendable {
    /// The high-water mark: with so many waiting bytes, the transfer is paused. 1 MiB.
    static let highWater = 1 << 20
    /// The number of waiting bytes at or below which a paused transfer is resumed.
    private static let lowWater = highWater / 2
    /// With so many bytes, a waiting reader is woken at once. For fewer bytes, it is woken when the engine has no other work.
    static let eagerWake = 512 << 10

    private struct State: ~Copyable {
        var bytes = ChunkQueue()
        var isPaused = false
        var end: Result<Response, any Error>?
        var reader: CheckedContinuation<Data?, any Error>?
        var isAbandoned = false
        var connection: (any DuplexConnection)?
    }

    /// The action that the engine thread must take after it has added bytes.
    struct Consequence {
        /// When to wake the reader through ``wake()``.
        var wake: Wake
        /// Whether the transfer must be paused.
        var mustPause: Bool
        /// Whether there was no memory to store the bytes.
        var isOutOfMemory: Bool
    }

    /// When to wake the reader: never, when the engine has no other work, or at once.
    enum Wake { case never, soon, now }

    private let state = Locked(State())
    /// Resumes the paused transfer.
    private let whenDrained: @Sendable () -> Void
    /// Ends the transfer because the reader was cancelled.
    private let whenAbandoned: @Sendable () -> Void

    init(whenDrained: @escaping @Sendable () -> Void, whenAbandoned: @escaping @Sendable () -> Void) {
        self.whenDrained = whenDrained
        self.whenAbandoned = whenAbandoned
    }

    // MARK: Engine side

    /// Adds bytes, and returns the action for the engine thread. Drops the bytes if the reader was cancelled.
    func append(_ bytes: RawSpan) -> Consequence {
        state.withLock { state in
            let before = state.bytes.count
            let isStored = state.isAbandoned || state.bytes.append(bytes)
            return Self.consequence(&state, before: before, isStored: isStored)
        }
    }

    /// Adds a chunk, whose memory the reader gets, in the same way.
    func append(_ chunk: Data) -> Consequence {
        state.withLock { state in
            let before = state.bytes.count
            if !state.isAbandoned { state.bytes.append(chunk: chunk) }
            return Self.consequence(&state, before: before, isStored: true)
        }
    }

    private static func consequence(_ state: inout State, before: Int, isStored: Bool) -> Consequence {
        guard !state.isAbandoned else { return Consequence(wake: .never, mustPause: false, isOutOfMemory: false) }
        let mustPause = !state.isPaused && state.bytes.count >= highWater
        if mustPause { state.isPaused = true }
        let wake: Wake =
            if state.reader == nil { .never } else if state.bytes.count >= eagerWake {
                .now
            } else if before == 0 {
                .soon
            } else { .never }
        return Consequence(wake: wake, mustPause: mustPause, isOutOfMemory: !isStored)
    }

    /// Passes the stored bytes to the waiting reader.
    func wake() {
        let (reader, next) = state.withLock { state -> (CheckedContinuation<Data?, any Error>?, Next) in
            guard state.bytes.count > 0, let reader = state.reader else { return (nil, .wait) }
            state.reader = nil
            return (reader, Self.take(&state))
        }
        guard let reader, case .chunk(let chunk, let mustDrain) = next else { return }
        reader.resume(returning: chunk)
        if mustDrain { whenDrained() }
    }

    /// Ends the body. The reader gets the stored bytes first.
    func finish(_ end: Result<Response, any Error>) {
        let (reader, chunk) = state.withLock { state -> (CheckedContinuation<Data?, any Error>?, Data?) in
            guard state.end == nil else { return (nil, nil) }
            state.end = end
            guard let reader = state.reader else { return (nil, nil) }
            state.reader = nil
            return (reader, state.bytes.count > 0 ? state.bytes.take() : nil)
        }
        guard let reader else { return }
        if let chunk { return reader.resume(returning: chunk) }
        reader.resume(with: end.withoutValue)
    }

    /// Stores the connection that the reader gets instead of a body. Returns `false` if the reader was cancelled.
    func accept(_ connection: any DuplexConnection) -> Bool {
        state.withLock { state in
            guard !state.isAbandoned else { return false }
            state.connection = connection
            return true
        }
    }

    /// Whether the transfer must stay paused.
    var isFull: Bool { state.withLock { $0.isPaused } }

    // MARK: Reader's side

    /// The connection that the reader gets instead of a body, if the server has switched protocols.
    var connection: (any DuplexConnection)? { state.withLock { $0.connection } }

    /// The metrics of the response, if its body has ended.
    var finalMetrics: Metrics? { state.withLock { try? $0.end?.get().metrics } }

    /// Whether the body has ended, so that no more bytes arrive.
    var hasEnded: Bool { state.withLock { $0.end != nil } }

    private enum Next {
        case chunk(Data, mustDrain: Bool)
        case end(Result<Response, any Error>)
        case wait
        case busy
    }

    /// Returns the next chunk; `nil` at the end of the body.
    ///
    /// - Throws: `CancellationError` in a cancelled task, which also ends the transfer; the error with which the transfer failed;
    ///   ``TrellisError`` if another reader is waiting.
    func next() async throws -> Data? {
        if Task.isCancelled { return try abandon() }
        switch poll() {
        case .chunk(let chunk, let mustDrain):
            if mustDrain { whenDrained() }
            return chunk
        case .end(let end): return try end.withoutValue.get()
        case .busy: throw TrellisError.secondReader
        case .wait: break
        }
        return try await withTaskCancellationHandler {
            try await withThrowingContinuation { wait(with: $0) }
        } onCancel: {
            cancelRead()
        }
    }

    private func poll() -> Next {
        state.withLock { state in
            if state.bytes.count > 0 { return Self.take(&state) }
            // Bytes may have been dropped after the cancellation, so the reader must not take this for the end of a complete body.
            if state.isAbandoned { return .end(.failure(CancellationError())) }
            if let end = state.end { return .end(end) }
            return state.reader == nil ? .wait : .busy
        }
    }

    private static func take(_ state: inout State) -> Next {
        let chunk = state.bytes.take()
        let mustDrain = state.isPaused && state.bytes.count <= lowWater
        if mustDrain { state.isPaused = false }
        return .chunk(chunk, mustDrain: mustDrain && state.end == nil)
    }

    private func wait(with reader: CheckedContinuation<Data?, any Error>) {
        let next = state.withLock { state -> Next in
            if state.isAbandoned { return .end(.failure(CancellationError())) }
            if state.bytes.count > 0 { return Self.take(&state) }
            if let end = state.end { return .end(end) }
            guard state.reader == nil else { return .busy }
            state.reader = reader
            return .wait
        }
        switch next {
        case .wait: break
        case .chunk(let chunk, let mustDrain):
            if mustDrain { whenDrained() }
            reader.resume(returning: chunk)
        case .end(let end): reader.resume(with: end.withoutValue)
        case .busy: reader.resume(throwing: TrellisError.secondReader)
        }
    }

    private func cancelRead() {
        let reader = state.withLock { state -> CheckedContinuation<Data?, any Error>? in
            if state.end == nil { state.isAbandoned = true }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(throwing: CancellationError())
        whenAbandoned()
    }

    private func abandon() throws -> Data? {
        cancelRead()
        throw CancellationError()
    }

    /// Returns the response with its trailers and final metrics. Reads and drops the unread rest of the body.
    func finalResponse() async throws -> Response {
        while try await next() != nil {}
        guard let end = state.withLock({ $0.end }) else { throw CancellationError() }
        return try end.get()
    }
}

extension BodyInbox: DeferredDelivery {
    func deliver() { wake() }
}

extension Result where Success == Response {
    /// The end of a body as its reader gets it: `nil` instead of a chunk, or the error.
    fileprivate var withoutValue: Result<Data?, Failure> { map { _ -> Data? in nil } }
}

/// A response with its complete body.
typealias CollectedResponse = (Data, Response)
