import CurlEngine
import FoundationEssentials

/// The body of a response that was received for a session with a cache: it is stored while it is read, if the response is, and its content
/// codings are removed for the reader.
final class StoringSource: WrappingSource {
    let token: TransferToken
    /// The entry that is being stored; `nil` if the response is not.
    private let recording: CacheRecording?
    private let coded: CodedBody?
    private let limit: ByteLimit
    private let status: CacheStatus
    /// The stored bytes that the reader gets with the received ones; `nil` if it gets those alone.
    private let surroundings: Surroundings?
    private let turn = ReaderTurn()
    /// The number of bytes that the reader has received.
    private let count = Locked(0)

    /// The stored bytes around received ones, for the reader.
    final class Surroundings: Sendable {
        /// The head of the response that has all of these bytes.
        let head: ResponseHead
        fileprivate let before: CachedBodySource
        fileprivate let after: CachedBodySource
        /// The number of bytes that are to be received, before the end of the body.
        private let rest: Locked<Int?>
        private let end = Locked(false)

        init(_ head: ResponseHead, before: CachedBodySource, receiving count: Int, after: CachedBodySource) {
            (self.head, self.before, self.after) = (head, before, after)
            rest = Locked(count)
        }

        /// Whether the reader has got all bytes. A cancellation is no failure from then on.
        fileprivate var isAtEnd: Bool { end.withLock { $0 } }

        /// Returns the next stored bytes after the received ones; `nil` at the end.
        fileprivate func nextAfter() async throws -> Data? {
            if let chunk = try await after.next() { return chunk }
            end.withLock { $0 = true }
            return nil
        }

        /// Whether the end of the received bytes has not been reached.
        fileprivate var isReceiving: Bool { rest.withLock { $0 != nil } }

        /// Counts bytes that were received; `nil` at their end.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/truncatedBody`` if there are more or fewer than the head has announced:
        ///   the stored bytes would be in another place than their own.
        fileprivate func count(_ chunk: Data?) throws(TrellisError) {
            let isRight = rest.withLock { rest in
                let left = (rest ?? 0) - (chunk?.count ?? 0)
                rest = chunk == nil ? nil : left
                return chunk == nil ? left == 0 : left >= 0
            }
            guard !isRight else { return }
            throw TrellisError(
                .invalidResponse(.bodyCutShort("the part has another length than its Content-Range says")),
                phase: .receiving)
        }
    }

    /// - Parameter limit: The limit on the number of bytes that the reader gets.
    init(
        _ token: TransferToken, _ recording: CacheRecording?, _ coded: CodedBody?, limit: ByteLimit,
        _ status: CacheStatus, within surroundings: Surroundings? = nil
    ) {
        (self.token, self.recording, self.coded) = (token, recording, coded)
        (self.limit, self.status, self.surroundings) = (limit, status, surroundings)
    }

    var metrics: Metrics? {
        get async {
            var metrics = await token.source.metrics
            metrics?.cacheStatus = presentStatus
            return metrics
        }
    }

    /// The status, without the intention to store a response that was not stored after all.
    private var presentStatus: CacheStatus {
        var status = status
        if status.isStored, recording?.isStored != true {
            status.isStored = false
            status.detail = recording?.isRefused == true ? "storage" : "not-complete"
        }
        return status
    }

    /// Whether the body is being stored, or was.
    var isStoring: Bool { recording?.isStored ?? false }

    /// Waits until a response that was received completely is stored, in a cancelled task too.
    func waitForCommit() async { await recording?.waitForCommit() }

    func next() async throws -> Data? {
        try turn.begin()
        defer { turn.end() }
        do {
            guard let piece = try await piece() else { return nil }
            let count = count.withLock { count in
                count += piece.count
                return count
            }
            guard !limit.isExceeded(by: count) else { throw TrellisError.bodyTooLarge(limit) }
            return piece
        } catch {
            recording?.discard()
            // The requests that wait do not follow one after the other into the same failure.
            recording?.release(Task.isCancelled ? .left : .notStored)
            token.source.cancel(explicitly: false)
            throw error
        }
    }

    private func piece() async throws -> Data? {
        while true {
            if let piece = try coded?.next() { return piece }
            guard let chunk = try await chunk() else {
                // A body whose content coding is not complete is not stored.
                try coded?.finish()
                await recording?.commit()
                return nil
            }
            guard let coded else { return chunk }
            if let piece = try coded.decode(chunk) { return piece }
        }
    }

    /// Returns the next bytes, as they are stored; `nil` at the end.
    private func chunk() async throws -> Data? {
        guard let surroundings else { return try await receivedChunk() }
        if surroundings.isAtEnd { return nil }
        if let chunk = try await surroundings.before.next() { return chunk }
        if surroundings.isReceiving {
            let chunk = try await receivedChunk { try surroundings.count($0) }
            if let chunk { return chunk }
        }
        return try await surroundings.nextAfter()
    }

    /// Returns the next bytes that were received, which are stored; `nil` at the end.
    private func receivedChunk(_ check: (Data?) throws -> Void = { _ in }) async throws -> Data? {
        let chunk = try await token.source.next()
        try check(chunk)
        if let chunk { await recording?.write(chunk) }
        return chunk
    }

    func finalResponse() async throws -> Response {
        while try await next() != nil {}
        let response = try await token.source.finalResponse().with(presentStatus)
        return surroundings.map { response.with($0.head) } ?? response
    }

    func cancel(explicitly: Bool) {
        recording?.discard()
        // Equal requests do not wait until the last owner of the source is gone.
        recording?.release(.left)
        surroundings?.before.cancel(explicitly: explicitly)
        surroundings?.after.cancel(explicitly: explicitly)
        token.source.cancel(explicitly: explicitly)
    }
}
