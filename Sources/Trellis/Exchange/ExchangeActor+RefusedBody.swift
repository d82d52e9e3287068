import CurlEngine

/// The limit on the body of a response in memory whose head is refused by all readers.
extension ExchangeActor {
    /// The part of the body that an error shows or decodes, in bytes.
    static var refusedBodyLimit: Int { 64 << 10 }

    /// Ends the transfer if the body exceeds the limit and all readers refuse the head.
    ///
    /// The readers are asked once, when the body exceeds the limit, because their verdict makes no difference before.
    func cutsBody(with bytes: RawSpan) -> Bool {
        let limit = min(Self.refusedBodyLimit, prepared.maximumBodySize.bytes)
        guard bodyCount > limit, !isHeadJudged, case .memory = sink, let readers, let head else { return false }
        isHeadJudged = true
        guard readers.refuses(head, of: prepared.transportRequest.request) else { return false }
        let room = limit - (bodyCount - bytes.byteCount)
        if room > 0 { _ = body.append(bytes.extracting(first: room)) }
        bodyCount = limit
        isBodyCut = true
        handle(.discardRest)
        return true
    }
}
