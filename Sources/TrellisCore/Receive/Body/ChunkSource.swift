import CurlEngine
package import FoundationEssentials
import Synchronization

/// A source of the chunks of a body.
package protocol ChunkSource: AnyObject, Sendable {
    /// The observer of the validations and serializations of the body; `nil` if there is none.
    var observer: (any ReadingObserver)? { get }
    /// The time from the call to this moment in nanoseconds; `nil` if unknown.
    var elapsedTime: Int64? { get }
    /// Returns the next chunk; `nil` at the end.
    func next() async throws -> Data?
    /// Returns the response with its trailers and final metrics, once the rest of the body has been read.
    func finalResponse() async throws -> Response
    /// The metrics of the transfer so far; `nil` if unknown.
    var metrics: Metrics? { get async }
    /// Ends the transfer, unless it has ended.
    func cancel(explicitly: Bool)
    /// Stops the traffic of the transfer, or resumes it. The last of several calls takes effect, also if they are made on different
    /// threads.
    func hold(_ isHeld: Bool)
    /// The source that receives the bytes: this one, unless this one changes the bytes of another.
    var transfer: any ChunkSource { get }
}

extension ChunkSource {
    /// The source itself.
    package var transfer: any ChunkSource { self }
    /// `nil`, unless a source has an observer.
    package var observer: (any ReadingObserver)? { nil }
    /// `nil`, unless a source measures its transfer.
    package var metrics: Metrics? { get async { nil } }
    /// `nil`, unless a source knows the beginning of its call.
    package var elapsedTime: Int64? { nil }

    /// Does nothing: a reader that does not read has the same effect a little later.
    package func hold(_ isHeld: Bool) {}
}

/// A source that passes on what another one receives.
package protocol WrappingSource: ChunkSource {
    /// The token of the other source.
    var token: TransferToken { get }
}

extension WrappingSource {
    /// The source that receives the bytes from the network or from memory.
    package var transfer: any ChunkSource { token.source.transfer }
    /// The observer of the other source.
    package var observer: (any ReadingObserver)? { token.source.observer }
    /// The metrics of the other source.
    package var metrics: Metrics? { get async { await token.source.metrics } }
    /// The time of the other source, in nanoseconds.
    package var elapsedTime: Int64? { token.source.elapsedTime }

    /// Stops the traffic of the other source, or resumes it.
    package func hold(_ isHeld: Bool) { token.source.hold(isHeld) }
}

/// A token that ends the transfer of its source when the token is released, by a reader that stopped or with a response that was
/// dropped.
package final class TransferToken: Sendable {
    /// The source whose transfer ends.
    package let source: any ChunkSource
    /// The end of the reading of the body, for readers that come after it.
    private let ending = Atomic(BodyReadingEnd.none)

    /// Creates the token of a source.
    package init(_ source: any ChunkSource) { self.source = source }

    deinit { source.cancel(explicitly: false) }

    /// Ends the reading of the body, unless it has ended.
    func end(_ end: BodyReadingEnd) { _ = ending.compareExchange(expected: .none, desired: end, ordering: .relaxed) }

    /// Ends the reading of the body before its end, and the transfer with it, unless they have ended.
    func breakOff() {
        end(.brokenOff)
        source.cancel(explicitly: false)
    }

    /// The error of a further reader of the body; `nil` if the reading of the body has not ended.
    var errorOfFurtherReader: TrellisError? { ending.load(ordering: .relaxed).error }

    /// The error of a reader that finds the transfer cancelled, in a task that is not cancelled.
    var errorOfCancelledTransfer: TrellisError {
        errorOfFurtherReader ?? TrellisError(.cancelled(.explicitly), phase: .receiving)
    }
}

/// The end of the reading of a body, which is read once.
enum BodyReadingEnd: UInt8, AtomicRepresentable {
    /// The reading has not ended.
    case none
    /// A reader has reached the end of the body.
    case complete
    /// A reader has left before the end of the body, or the response was not accepted.
    case brokenOff

    /// The error of a further reader; `nil` if the reading has not ended.
    fileprivate var error: TrellisError? {
        switch self {
        case .none: nil
        case .complete: TrellisError(.other("the body of the response was already read"), phase: .receiving)
        case .brokenOff:
            TrellisError(
                .other("the body of the response was already read, and its transfer ended before the end"),
                phase: .receiving)
        }
    }
}

/// The reader of a body in chunks. A reader that is released ends the transfer, and a reader that comes after that, or after the end of the
/// body, gets an error. A reader that comes while another one waits for a chunk gets an error too, and its release has no effect.
final class ChunkReader: Sendable {
    let source: any ChunkSource
    /// The token of the response, so that dropping the response alone does not end the transfer.
    private let token: TransferToken
    /// The response of the body, for errors.
    private let response: Response
    /// Whether this reader has ended the reading of the body.
    private let hasEnded = Atomic(false)
    /// Whether another reader has waited for a chunk when this one last asked for one.
    private let wasRefused = Atomic(false)

    init(_ token: TransferToken, _ response: Response) {
        source = token.source
        self.token = token
        self.response = response
    }

    deinit { if !wasRefused.load(ordering: .relaxed) { token.breakOff() } }

    /// Returns the next chunk; `nil` at the end.
    ///
    /// - Throws: The errors of the source; ``TrellisError`` of kind ``TrellisError/Kind/other`` if another reader has ended the reading of
    ///   the body; `CancellationError` only in a cancelled task.
    func next() async throws -> Data? {
        // Thousands of readers may wait here. An error takes kilobytes of the frame of a function that makes or reads one.
        try checkOtherReaders()
        do {
            let chunk = try await source.next()
            wasRefused.store(false, ordering: .relaxed)
            if chunk == nil { end(.complete) }
            return chunk
        } catch {
            throw ended(with: error)
        }
    }

    /// Throws an error if another reader has ended the reading of the body.
    @inline(never)
    private func checkOtherReaders() throws {
        if let error = token.errorOfFurtherReader, !hasEnded.load(ordering: .relaxed) { throw completed(error) }
    }

    /// Ends the reading after an error of the source. Returns the error for the reader.
    @inline(never)
    private func ended(with error: any Error) -> any Error {
        if error is CancellationError {
            guard Task.isCancelled else { return completed(token.errorOfCancelledTransfer) }
            end(.brokenOff)
            return error
        }
        let reason = (error as? TrellisError)?.reason
        wasRefused.store(reason == TrellisError.secondReader.reason, ordering: .relaxed)
        return completed(error)
    }

    private func end(_ end: BodyReadingEnd) {
        hasEnded.store(true, ordering: .relaxed)
        token.end(end)
    }

    /// Returns an error about the body, completed with its request, its response and the metrics of its call.
    func completed(_ error: any Error) -> any Error { source.completed(error, reading: response) }
}

extension ChunkSource {
    /// Returns an error about the body, completed with the request, the response and the metrics of the call. An error that names a request
    /// is the transfer's, and any other than a ``TrellisError`` is the user's: neither is changed.
    func completed(_ error: any Error, reading response: Response) -> any Error {
        guard var error = error as? TrellisError, error.url == nil else { return error }
        error.method = response.request?.method
        // The request of a response has been sent.
        if error.phase == .composing { error.phase = .receiving }
        error.url = URLRedaction.redact(response.url)
        error.response = response
        error.metrics = response.metrics
        // The metrics of the response end with its head.
        if let elapsedTime { error.metrics.totalTime = max(elapsedTime, error.metrics.totalTime) }
        return error
    }
}

/// A source for a body that is in memory, for readers of chunks.
final class DataSource: ChunkSource {
    private enum State {
        case unread(Data)
        /// The only chunk was read or dropped.
        case ended
        /// The source was cancelled before the chunk was read.
        case cancelled
    }

    private let state: Locked<State>
    private let response: Response

    init(_ data: Data, response: Response) {
        state = Locked(data.isEmpty ? .ended : .unread(data))
        self.response = response
    }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        return try end()
    }

    func finalResponse() async throws -> Response {
        _ = try end()
        return response
    }

    /// Returns the chunk, unless it was read before.
    private func end() throws -> Data? {
        try state.withLock { state in
            switch state {
            case .unread(let data):
                state = .ended
                return data
            case .ended: return nil
            case .cancelled: throw CancellationError()
            }
        }
    }

    func cancel(explicitly: Bool) { state.withLock { if case .unread = $0 { $0 = .cancelled } } }
}
