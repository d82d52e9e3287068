import CurlEngine
import FoundationEssentials

extension Request {
    /// The hash of the body as it will be sent; `nil` where that cannot be known: it is compressed on its way, it cannot be
    /// made twice, or there is no such function.
    func hashOfBody(_ algorithm: MessageDigest.Algorithm) async throws -> String? {
        guard let digest = MessageDigest(algorithm), body == nil || compression == nil else { return nil }
        guard let body else { return digest.finish() }
        guard body.isReplayable else { return nil }
        let shared = Locked(digest)
        let sizes = hasFiles ? await FileSizes(of: body) : nil
        try await PieceChunks([body.source], sizes).send { chunk in shared.withLock { $0.update(chunk) } }
        return shared.withLock { $0.finish() }
    }
}
