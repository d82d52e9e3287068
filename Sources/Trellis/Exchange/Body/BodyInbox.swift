import CurlEngine
import FoundationEssentials

/// The body between the engine thread, which fills it, and one reader, who empties it at a pace of its own.
///
/// While the reader is busy, what comes is joined, so that a fast body is few large chunks. Above ``highWater`` the transfer
/// is paused until the reader has taken half of it: so much memory, the chunk that is being read, and what libcurl had read
/// already, is what a stream holds.
final class BodyInbox: Sendable {
    /// The transfer is paused when so many bytes wait.
    static let highWater = 1 << 20
    /// It goes on when no more than so many do.
    private static let lowWater = highWater / 2
    /// A reader that waits is woken at once for so many bytes; for fewer, when the engine has nothing else to do.
    static let eagerWake = 512 << 10

    private struct State: ~Copyable {
        var bytes = ChunkQueue()
        var isPaused = false
        var end: Result<Response, any Error>?
        var reader: CheckedContinuation<Data?, any Error>?
        var isAbandoned = false
    }

    /// What the engine thread does after it added bytes.
    struct Consequence {
        /// When to wake the reader through ``wake()``.
        var wake: Wake
        /// The transfer must be paused.
        var mustPause: Bool
        /// The bytes could not be stored.
        var isOutOfMemory: Bool
    }

    enum Wake { case never, soon, now }

    private let state = Locked(State())
    /// Lets the transfer go on.
    private let whenDrained: @Sendable () -> Void
    /// Ends the transfer, because nobody reads any more.
    private let whenAbandoned: @Sendable () -> Void

    init(whenDrained: @escaping @Sendable () -> Void, whenAbandoned: @escaping @Sendable () -> Void) {
        self.whenDrained = whenDrained
        self.whenAbandoned = whenAbandoned
    }

    // MARK: Engine side

    func append(_ bytes: RawSpan) -> Consequence {
        state.withLock { state in
            guard !state.isAbandoned else { return Consequence(wake: .never, mustPause: false, isOutOfMemory: false) }
            let before = state.bytes.count
            let isStored = state.bytes.append(bytes)
            let mustPause = !state.isPaused && state.bytes.count >= Self.highWater
            if mustPause { state.isPaused = true }
            let wake: Wake =
                if state.reader == nil { .never } else if state.bytes.count >= Self.eagerWake {
                    .now
                } else if before == 0 {
                    .soon
                } else { .never }
            return Consequence(wake: wake, mustPause: mustPause, isOutOfMemory: !isStored)
        }
    }

    /// Hands what has come to the reader that waits for it.
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

    /// No more bytes come. What waits is still read first.
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

    // MARK: Reader's side

    /// Whether no more bytes come.
    var hasEnded: Bool { state.withLock { $0.end != nil } }

    private enum Next {
        case chunk(Data, mustDrain: Bool)
        case end(Result<Response, any Error>)
        case wait
        case busy
    }

    /// The next chunk, `nil` at the end.
    ///
    /// - Throws: `CancellationError` in a cancelled task, which ends the transfer; or why the transfer failed.
    func next() async throws -> Data? {
        if Task.isCancelled { return try abandon() }
        switch poll() {
        case .chunk(let chunk, let mustDrain):
            if mustDrain { whenDrained() }
            return chunk
        case .end(let end): return try end.withoutValue.get()
        case .busy: throw TrellisError(.other("the body of a response has one reader at a time"))
        case .wait: break
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait(with: $0) }
        } onCancel: {
            cancelRead()
        }
    }

    private func poll() -> Next {
        state.withLock { state in
            if state.bytes.count > 0 { return Self.take(&state) }
            // Bytes may have been dropped since, so that the end is not this reader's.
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
        case .busy: reader.resume(throwing: TrellisError(.other("the body of a response has one reader at a time")))
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

    /// The response with its trailers and final metrics. What nobody has read of the body is read and dropped.
    func finalResponse() async throws -> Response {
        while try await next() != nil {}
        guard let end = state.withLock({ $0.end }) else { throw CancellationError() }
        return try end.get()
    }
}

extension BodyInbox: EngineDelivery {
    func deliver() { wake() }
}

extension Result where Success == Response {
    /// The end of a body: no chunk, or the error.
    fileprivate var withoutValue: Result<Data?, Failure> { map { _ -> Data? in nil } }
}
