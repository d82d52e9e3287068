import CurlEngine

/// How much is read of the body of an answer in memory that all its readers refuse.
extension ExchangeActor {
    /// As much as an error shows or decodes, in bytes.
    static var refusedBodyLimit: Int { 64 << 10 }

    /// Ends the transfer where the body has become long and all readers refuse the head.
    ///
    /// They are asked once, when the body exceeds a limit, because it makes no difference before.
    func cutsBody(with bytes: RawSpan) -> Bool {
        let limit = min(Self.refusedBodyLimit, prepared.maximumBodySize.bytes)
        guard bodyCount > limit, !isHeadJudged, case .memory = sink, let readers, let head else { return false }
        isHeadJudged = true
        guard readers.refuses(head, of: prepared.transportRequest.request) else { return false }
        let room = limit - (bodyCount - bytes.byteCount)
        if room > 0 { _ = body.append(bytes.extracting(first: room)) }
        bodyCount = limit
        isBodyCut = true
        handle(.suffice)
        return true
    }
}
