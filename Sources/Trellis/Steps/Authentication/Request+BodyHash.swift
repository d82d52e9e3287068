import CurlEngine
import FoundationEssentials

extension Request {
    /// Returns the hash of the body as it will be sent; `nil` if the hash cannot be known: the body is compressed on its way,
    /// the body cannot be made twice, or the hash function is not available.
    func hashOfBody(_ algorithm: MessageDigest.Algorithm) async throws -> String? {
        guard let digest = MessageDigest(algorithm), body == nil || compression == nil else { return nil }
        guard let body else { return digest.finish() }
        guard body.isReplayable else { return nil }
        let shared = Locked(digest)
        let sizes = hasFiles ? try await FileSizes(of: body) : nil
        try await PieceChunks([body.source], sizes).send { chunk in shared.withLock { $0.update(chunk) } }
        return shared.withLock { $0.finish() }
    }
}
