import FoundationEssentials

/// What an answer has to be. Each of these returns a handle on the same request that checks one thing more; conditions are
/// checked in their order, and the first failure wins. Which readings check without being told: <doc:Validation>.
extension DataRequest {
    /// Wants a status of 200 to 299, and then a content type that the request's `Accept` includes.
    public func validate() -> DataRequest { validate(.successfulStatus).validate(.acceptedContentType) }

    /// Wants a status in a range, such as `200..<300` or `..<400`.
    public func validate(statusCode range: some RangeExpression<Int>) -> DataRequest {
        validate(.statusCode(range))
    }

    /// Wants one of several statuses.
    public func validate(statusCode codes: [Int]) -> DataRequest { validate(.statusCode(codes)) }

    /// Wants one of several content types, such as `application/json` or `image/*`: see ``Validator/contentType(_:)``.
    public func validate(contentType types: some Sequence<String>) -> DataRequest { validate(.contentType(types)) }

    /// Wants what a closure wants, which looks at request, response and body. What it throws reaches the reader unchanged.
    ///
    /// ```swift
    /// .validate { _, _, body in if body?.first != UInt8(ascii: "{") { throw NoObject() } }
    /// ```
    public func validate(_ check: @escaping Validator.Check) -> DataRequest { validate(Validator(check)) }

    /// Wants a condition met.
    public func validate(_ validator: Validator) -> DataRequest { DataRequest(owner, validation.adding(validator)) }

    /// Takes any answer: drops the conditions so far, and those that a reading has by itself. Conditions that are added later
    /// hold.
    public func withoutValidation() -> DataRequest { DataRequest(owner, .off) }
}
