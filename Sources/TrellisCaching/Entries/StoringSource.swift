import CurlEngine
import FoundationEssentials
import TrellisCore

/// The body of a response that was received for a session with a cache: it is stored while it is read, if the response is, and its content
/// codings are removed for the reader.
final class StoringSource: WrappingSource {
    let token: TransferToken
    /// The entry that is being stored; `nil` if the response is not.
    private let recording: CacheRecording?
    private let status: CacheStatus
    private let reader: DecodingReader

    /// - Parameter limit: The limit on the number of bytes that the reader gets.
    init(
        _ token: TransferToken, _ recording: CacheRecording?, coded: CodedBody?, limit: ByteLimit, status: CacheStatus
    ) {
        (self.token, self.recording, self.status) = (token, recording, status)
        reader = DecodingReader(coded, limit: limit)
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
        try reader.begin()
        defer { reader.end() }
        do {
            let piece = try await reader.piece { try await chunk() }
            // A body whose content coding is not complete is not stored.
            if piece == nil { await recording?.commit() }
            return piece
        } catch {
            recording?.discard()
            // The requests that wait do not follow one after the other into the same failure.
            recording?.release(Task.isCancelled ? .left : .notStored)
            token.source.cancel(explicitly: false)
            throw error
        }
    }

    /// Returns the next bytes that were received, which are stored; `nil` at the end.
    private func chunk() async throws -> Data? {
        let chunk = try await token.source.next()
        if let chunk { await recording?.write(chunk) }
        return chunk
    }

    func finalResponse() async throws -> Response {
        while try await next() != nil {}
        return try await token.source.finalResponse().with(presentStatus)
    }

    func cancel(explicitly: Bool) {
        recording?.discard()
        // Equal requests do not wait until the last owner of the source is gone.
        recording?.release(.left)
        token.source.cancel(explicitly: explicitly)
    }
}
