import FoundationEssentials

/// Conditions that the response has to meet. Each method returns a handle on the same request with one more condition; conditions are
/// checked in their order, and the first failure wins. <doc:Responses> lists the methods that validate the response even if no
/// condition was added.
extension DataRequest {
    /// Requires a status of 200 to 299, and then a content type that the request's `Accept` includes.
    public func validate() -> DataRequest { validate(.successfulStatus).validate(.acceptedContentType) }

    /// Requires a status in a range, such as `..<400`.
    public func validate(statusCode range: some RangeExpression<Int>) -> DataRequest {
        validate(.statusCode(range))
    }

    /// Requires a status in a range, such as `200..<300` or `500...`.
    public func validate(statusCode range: some RangeExpression<Int> & Sequence<Int>) -> DataRequest {
        validate(.statusCode(range))
    }

    /// Requires one of several statuses, such as `[200, 404]`.
    public func validate(statusCode codes: some Sequence<Int>) -> DataRequest { validate(.statusCode(codes)) }

    /// Requires one of several content types, such as `application/json` or `image/*`: see ``Validator/contentType(_:)``.
    public func validate(contentType types: some Sequence<String>) -> DataRequest { validate(.contentType(types)) }

    /// Requires the condition of a closure, which gets the request, the response and the body. An error that the closure throws is
    /// the reader's.
    ///
    /// ```swift
    /// .validate { _, _, body in if body?.first != UInt8(ascii: "{") { throw NoObject() } }
    /// ```
    public func validate(_ check: @escaping Validator.Check) -> DataRequest { validate(Validator(check)) }

    /// Requires the condition of a validator.
    public func validate(_ validator: Validator) -> DataRequest { DataRequest(handle, validation.adding(validator)) }

    /// Removes all conditions so far, the default conditions of a reading included: any response is accepted. Conditions that are
    /// added later apply.
    public func withoutValidation() -> DataRequest { DataRequest(handle, .off) }
}
