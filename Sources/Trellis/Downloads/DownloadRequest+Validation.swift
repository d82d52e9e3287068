/// What the response of a download has to be, before any of it is written. Each of these adds a condition to the download, and
/// returns the handle; to be called before it starts. Conditions are checked in their order, and the first failure wins.
///
/// A status of 200 to 299 and a content type that the request's `Accept` includes are wanted in any case, unless something is
/// said about just that. A part that completes what is there was accepted with its beginning, and is not checked again.
extension DownloadRequest {
    /// Wants a status of 200 to 299, and then a content type that the request's `Accept` includes.
    @discardableResult
    public func validate() -> DownloadRequest { adding(.successfulStatus, .acceptedContentType) }

    /// Wants a status in a range, such as `200..<300`.
    @discardableResult
    public func validate(statusCode range: some RangeExpression<Int>) -> DownloadRequest {
        validate(.statusCode(range))
    }

    /// Wants one of several statuses.
    @discardableResult
    public func validate(statusCode codes: [Int]) -> DownloadRequest { validate(.statusCode(codes)) }

    /// Wants one of several content types, such as `application/zip` or `image/*`: see ``Validator/contentType(_:)``.
    @discardableResult
    public func validate(contentType types: some Sequence<String>) -> DownloadRequest {
        validate(.contentType(types))
    }

    /// Wants what a closure wants, whose body is `nil`. What it throws is the download's error.
    @discardableResult
    public func validate(_ check: @escaping Validator.Check) -> DownloadRequest { validate(Validator(check)) }

    /// Wants a condition met.
    @discardableResult
    public func validate(_ validator: Validator) -> DownloadRequest { adding(validator) }
}
