package import FoundationEssentials

/// Where the chunks of a body come from.
package protocol ChunkSource: AnyObject, Sendable {
    /// The request that it answers, as it was sent; `nil` where nobody knows.
    var request: Request? { get }
    /// Receives what readers make of the body; `nil`: nothing does.
    var observer: (any ReadingObserver)? { get }
    /// The next chunk, `nil` at the end.
    func next() async throws -> Data?
    /// The response with its trailers and final metrics, once the rest of the body has been read.
    func finalResponse() async throws -> Response
    /// What it took, as far as the transfer has come; `nil` where nobody knows.
    var spent: Metrics? { get async }
    /// Ends the transfer, unless it has ended.
    func cancel(explicitly: Bool)
    /// Stops the transfer's traffic, or lets it go on. The last of several calls holds, whichever threads they come from.
    func hold(_ isHeld: Bool)
}

extension ChunkSource {
    /// Nobody knows.
    package var request: Request? { nil }
    package var observer: (any ReadingObserver)? { nil }
    package var spent: Metrics? { get async { nil } }

    /// A reader that does not read has the same effect a little later.
    package func hold(_ isHeld: Bool) {}
}

/// Ends the transfer of a source when it goes itself: a reader that left, or a response that nobody kept.
final class ReaderToken: Sendable {
    let source: any ChunkSource

    init(_ source: any ChunkSource) { self.source = source }

    deinit { source.cancel(explicitly: false) }
}
