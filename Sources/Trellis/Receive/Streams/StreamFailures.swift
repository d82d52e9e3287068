extension TrellisError {
    /// Something in a stream is longer than its limit.
    static func tooLong(_ what: String, limit: Int) -> TrellisError {
        var error = TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving)
        error.detail = "the limit is on \(what)"
        return error
    }

    /// The body does not have the format that it is read as.
    static func malformedStream(_ why: String) -> TrellisError {
        TrellisError(.serializationFailed(.format(why)), phase: .receiving)
    }

    /// The body is not of the type that it is read as.
    static func wrongStream(_ contentType: String?, acceptable: String) -> TrellisError {
        TrellisError(.validationFailed(.contentType(contentType, acceptable: [acceptable])), phase: .receiving)
    }

    /// The body ended before what it is read as.
    static func streamCutShort(_ why: String) -> TrellisError {
        TrellisError(.invalidResponse(.bodyCutShort(why)), phase: .receiving)
    }

    /// An element of a stream cannot be decoded.
    static func undecodable(_ element: UndecodableElement, as type: String) -> TrellisError {
        let why = (element.cause as? DecodingError)?.reason ?? "\(element.cause)"
        return TrellisError(
            .serializationFailed(.element("\(element.unit.rawValue) \(element.number)", type: type, why: why)),
            phase: .receiving, underlying: element)
    }
}
