import CurlEngine
import FoundationEssentials

/// The body of a stored response, for the reader of a stream.
final class CachedBodySource: ChunkSource {
    /// The number of bytes that are read from the storage at a time.
    private static let pieceSize: Int64 = 256 << 10

    private let body: any CachedBody
    private let coded: CodedBody?
    private let response: Response
    /// The observer of the call; `nil` if there is none.
    private let callObserver: CallObserver?
    private let limit: ByteLimit
    /// Is called when the body cannot be read.
    private let onFailure: @Sendable () async -> Void
    private let turn = ReaderTurn()
    private let state: Locked<State>

    private struct State {
        /// The bytes that have not been read; `nil` after a cancellation.
        var rest: Range<Int64>?
        /// The number of bytes that the reader has received.
        var count = 0
        /// Whether the reader has reached the end of the body. A cancellation is no failure from then on.
        var hasEnded = false
    }

    /// - Parameters:
    ///   - range: The bytes of the body that the reader gets, before they are decoded.
    ///   - limit: The limit on the number of bytes that the reader gets.
    init(
        _ body: any CachedBody, in range: Range<Int64>, decodedBy coded: CodedBody?, of response: Response,
        observer: CallObserver?, limit: ByteLimit,
        onFailure: @escaping @Sendable () async -> Void
    ) {
        (self.body, self.coded, self.response) = (body, coded, response)
        callObserver = observer
        (self.limit, self.onFailure) = (limit, onFailure)
        state = Locked(State(rest: range))
    }

    var observer: (any ReadingObserver)? { callObserver }
    var metrics: Metrics? { get async { response.metrics } }

    func next() async throws -> Data? {
        try turn.begin()
        defer { turn.end() }
        guard let piece = try await piece() else { return nil }
        let count = state.withLock { state in
            state.count += piece.count
            return state.count
        }
        guard !limit.isExceeded(by: count) else { throw TrellisError.bodyTooLarge(limit) }
        return piece
    }

    private func piece() async throws -> Data? {
        while true {
            try Task.checkCancellation()
            if let piece = try coded?.next() { return piece }
            let range = try nextRange()
            guard !range.isEmpty else {
                try coded?.finish()
                state.withLock { $0.hasEnded = true }
                return nil
            }
            let bytes = try await bytes(in: range)
            guard let coded else { return bytes }
            if let piece = try coded.decode(bytes) { return piece }
        }
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
            return try await body.bytes(in: range)
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

    func finalResponse() async throws -> Response { response }

    func cancel(explicitly: Bool) {
        state.withLock { state in
            if !state.hasEnded { state.rest = nil }
        }
    }
}

/// The turn of the one reader of a body.
final class ReaderTurn: Sendable {
    private let isTaken = Locked(false)

    /// Takes the turn.
    ///
    /// - Throws: ``TrellisError`` if another task has it.
    func begin() throws {
        let isFree = isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
        guard isFree else { throw TrellisError.secondReader }
    }

    func end() { isTaken.withLock { $0 = false } }
}

extension TrellisError {
    /// Returns the error of a body with more bytes than the caller accepts.
    static func bodyTooLarge(_ limit: ByteLimit) -> TrellisError {
        TrellisError(.invalidResponse(.bodyTooLarge(limit: limit.bytes)), phase: .receiving)
    }
}
