extension TrellisError {
    /// Something in a stream is longer than its limit.
    static func tooLong(_ what: String, limit: Int) -> TrellisError {
        var error = TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving)
        error.detail = "the limit is on \(what)"
        return error
    }

    /// The body does not have the format that it is read as.
    static func malformedStream(_ why: String) -> TrellisError {
        TrellisError(.invalidResponse(.malformed(why)), phase: .receiving)
    }

    /// The body ended before what it is read as.
    static func streamCutShort(_ why: String) -> TrellisError {
        TrellisError(.invalidResponse(.bodyCutShort(why)), phase: .receiving)
    }

    /// An element of a stream cannot be decoded.
    static func undecodable(_ element: UndecodableElement) -> TrellisError {
        let which = "\(element.unit.rawValue) \(element.number) of the body"
        return TrellisError(.other("\(which) cannot be decoded"), phase: .receiving, underlying: element)
    }
}
