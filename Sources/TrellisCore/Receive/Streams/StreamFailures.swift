extension TrellisError {
    /// Returns the error of an element of a stream that is longer than its limit in bytes; `what` names the element.
    static func tooLong(_ what: String, limit: Int) -> TrellisError {
        var error = TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving)
        error.detail = "the limit applies to \(what)"
        return error
    }

    /// Returns the error of a body that does not have the format that it is read as.
    static func malformedStream(_ reason: String) -> TrellisError {
        TrellisError(.serializationFailed(.format(reason)), phase: .receiving)
    }

    /// Returns the error of a body that is not of the content type that it is read as.
    static func wrongStream(_ contentType: String?, acceptable: String) -> TrellisError {
        TrellisError(.validationFailed(.contentType(contentType, acceptable: [acceptable])), phase: .receiving)
    }

    /// Returns the error of a body that ended before its format is complete.
    static func streamCutShort(_ reason: String) -> TrellisError {
        TrellisError(.invalidResponse(.bodyCutShort(reason)), phase: .receiving)
    }

    /// Returns the error of an element of a stream that cannot be decoded.
    static func undecodable(_ element: UndecodableElement, as type: String) -> TrellisError {
        let reason = (element.cause as? DecodingError)?.reason ?? "\(element.cause)"
        return TrellisError(
            .serializationFailed(.element("\(element.unit.rawValue) \(element.number)", type: type, reason: reason)),
            phase: .receiving, underlying: element)
    }
}
