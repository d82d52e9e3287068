public import TrellisCore

/// Conditions that the response of a download has to meet before any of its body is written. Each method returns a handle on the
/// same download with one more condition, which applies to all handles; call it before the download starts. Conditions are checked
/// in their order, and the first failure is the error.
///
/// A status of 200 to 299 and a content type that the request's `Accept` includes are required in any case, unless a condition is
/// about the status or the content type. The response with the rest of a file that was accepted at its beginning is not checked
/// again.
extension DownloadRequest {
    /// Requires a status of 200 to 299, and then a content type that the request's `Accept` includes.
    public func validate() -> DownloadRequest { adding(.successfulStatus, .acceptedContentType) }

    /// Requires a status in a range, such as `..<400`.
    public func validate(statusCode range: some RangeExpression<Int>) -> DownloadRequest {
        validate(.statusCode(range))
    }

    /// Requires a status in a range, such as `200..<300` or `500...`.
    public func validate(statusCode range: some RangeExpression<Int> & Sequence<Int>) -> DownloadRequest {
        validate(.statusCode(range))
    }

    /// Requires one of several statuses, such as `[200, 404]`.
    public func validate(statusCode codes: some Sequence<Int>) -> DownloadRequest { validate(.statusCode(codes)) }

    /// Requires one of several content types, such as `application/zip` or `image/*`: see ``Validator/contentType(_:)``.
    public func validate(contentType types: some Sequence<String>) -> DownloadRequest {
        validate(.contentType(types))
    }

    /// Requires the condition of a closure, which gets the request, the response and `nil` for the body. An error that the closure
    /// throws is the reader's.
    public func validate(_ check: @escaping Validator.Check) -> DownloadRequest { validate(Validator(check)) }

    /// Requires the condition of a validator.
    public func validate(_ validator: Validator) -> DownloadRequest { adding(validator) }
}
