import CurlEngine
import FoundationEssentials
import TrellisCore

/// The body of a stored response, for the reader of a stream.
final class CachedBodySource: ChunkSource {
    /// The number of bytes that are read from the storage at a time.
    private static let pieceSize: Int64 = 256 << 10

    private let body: any CachedBody
    private let response: Response
    /// The observer of the call; `nil` if there is none.
    private let callObserver: CallObserver?
    /// The deadline of the call.
    private let deadline: CallDeadline
    /// Is called when the body cannot be read.
    private let onFailure: @Sendable () async -> Void
    private let reader: DecodingReader
    private let state: Locked<State>

    private struct State {
        /// The bytes that have not been read; `nil` after a cancellation.
        var rest: Range<Int64>?
        /// Whether the reader has reached the end of the body. A cancellation is no failure from then on.
        var hasEnded = false
    }

    /// - Parameters:
    ///   - range: The bytes of the body that the reader gets, before they are decoded.
    ///   - limit: The limit on the number of bytes that the reader gets.
    init(
        _ body: any CachedBody, in range: Range<Int64>, decodedBy coded: CodedBody?, of response: Response,
        observer: CallObserver?, limit: ByteLimit, deadline: CallDeadline,
        onFailure: @escaping @Sendable () async -> Void
    ) {
        (self.body, self.response, callObserver) = (body, response, observer)
        (self.deadline, self.onFailure) = (deadline, onFailure)
        reader = DecodingReader(coded, limit: limit)
        state = Locked(State(rest: range))
    }

    var observer: (any ReadingObserver)? { callObserver }
    var metrics: Metrics? { get async { response.metrics } }
    var elapsedTime: Int64? { deadline.clock.now().nanoseconds(since: deadline.start) }

    func next() async throws -> Data? {
        try reader.begin()
        defer { reader.end() }
        try Task.checkCancellation()
        let piece = try await reader.piece { try await chunk() }
        if piece == nil { state.withLock { $0.hasEnded = true } }
        return piece
    }

    /// Returns the next bytes, as they are stored; `nil` at the end.
    private func chunk() async throws -> Data? {
        try Task.checkCancellation()
        let range = try nextRange()
        return range.isEmpty ? nil : try await bytes(in: range)
    }

    private func nextRange() throws -> Range<Int64> {
        try state.withLock { state in
            guard let rest = state.rest else { throw CancellationError() }
            let range = rest.lowerBound..<min(rest.lowerBound + Self.pieceSize, rest.upperBound)
            state.rest = range.upperBound..<rest.upperBound
            return range
        }
    }

    private func bytes(in range: Range<Int64>) async throws -> Data {
        do {
            return try await storedBytes(in: range)
        } catch is DeadlineReached {
            cancel(explicitly: false)
            throw TrellisError(.timedOut(.total), phase: .receiving)
        } catch {
            cancel(explicitly: false)
            // A read that was cancelled says nothing about the bytes.
            try Task.checkCancellation()
            await onFailure()
            throw TrellisError(
                .invalidResponse(.bodyCutShort("the stored body cannot be read")), method: .get, url: response.url,
                phase: .receiving, metrics: response.metrics, underlying: error)
        }
    }

    private struct DeadlineReached: Error {}

    /// Returns bytes of the stored body, unless the deadline comes first.
    private func storedBytes(in range: Range<Int64>) async throws -> Data {
        guard let rest = deadline.remaining else { return try await body.bytes(in: range) }
        guard rest > .zero else { throw DeadlineReached() }
        let (body, clock) = (body, deadline.clock)
        let result = Locked<Result<Data, any Error>?>(nil)
        let reading = Task.immediate {
            let read: Result<Data, any Error>
            do { read = .success(try await body.bytes(in: range)) } catch { read = .failure(error) }
            result.withLock { $0 = read }
        }
        // A storage in memory has answered.
        if result.withLock({ $0 == nil }) {
            let wait = Task { _ = await waitForEnd(of: [reading], within: rest, on: clock) }
            await BlockingThreadPool.waitUnlessCancelled(for: wait)
            reading.cancel()
        }
        try Task.checkCancellation()
        guard let result = result.withLock({ $0 }) else { throw DeadlineReached() }
        return try result.get()
    }

    func finalResponse() async throws -> Response { response }

    func cancel(explicitly: Bool) {
        state.withLock { state in
            if !state.hasEnded { state.rest = nil }
        }
    }
}
