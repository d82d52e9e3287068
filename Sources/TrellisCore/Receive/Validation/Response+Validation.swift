public import FoundationEssentials
import HTTPTypes

/// The checks of a response that was received without any, such as by
/// ``Session/data(_:query:headers:timeout:timeouts:interceptor:)-(_,_,HTTPFields,_,_,_)``:
///
/// ```swift
/// let (data, response) = try await session.data(url)
/// try response.validate(body: data)
/// ```
///
/// The rules and the errors are as in ``DataRequest/validate()``: see <doc:Responses>.
extension Response {
    /// Whether the status is one of 200 to 299.
    public var isSuccess: Bool { (200..<300).contains(status.code) }

    /// Requires a status of 200 to 299, and then a content type that the request's `Accept` includes.
    ///
    /// - Parameter body: The body that was received, whose beginning the error shows; `nil` if it is not at hand.
    /// - Returns: The same response.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus`` or
    ///   ``TrellisError/Kind/unacceptableContentType``.
    @discardableResult
    public func validate(body: Data? = nil) throws(TrellisError) -> Response {
        try check([.successfulStatus, .acceptedContentType], body)
    }

    /// Requires a status in a range, such as `..<400`.
    ///
    /// - Parameters:
    ///   - range: The accepted statuses.
    ///   - body: The body that was received, whose beginning the error shows; `nil` if it is not at hand.
    /// - Returns: The same response.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus``.
    @discardableResult
    public func validate(
        statusCode range: some RangeExpression<Int>, body: Data? = nil
    ) throws(TrellisError) -> Response {
        try check([.statusCode(range)], body)
    }

    /// Requires a status in a range, such as `200..<300` or `500...`.
    ///
    /// - Parameters:
    ///   - range: The accepted statuses.
    ///   - body: The body that was received, whose beginning the error shows; `nil` if it is not at hand.
    /// - Returns: The same response.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus``.
    @discardableResult
    public func validate(
        statusCode range: some RangeExpression<Int> & Sequence<Int>, body: Data? = nil
    ) throws(TrellisError) -> Response {
        try check([.statusCode(range)], body)
    }

    /// Requires one of several statuses, such as `[200, 404]`.
    ///
    /// - Parameters:
    ///   - codes: The accepted statuses, in any order.
    ///   - body: The body that was received, whose beginning the error shows; `nil` if it is not at hand.
    /// - Returns: The same response.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unacceptableStatus``.
    @discardableResult
    public func validate(statusCode codes: some Sequence<Int>, body: Data? = nil) throws(TrellisError) -> Response {
        try check([.statusCode(codes)], body)
    }

    private func check(_ validators: [Validator], _ body: Data?) throws(TrellisError) -> Response {
        for validator in validators {
            let reason = validator.refusal(
                of: self, hasNoContent: hasNoContent(body, after: request?.method ?? .get), accept: request?.accept)
            if let reason { throw error(reason, body, to: request?.method, phase: .received) }
        }
        return self
    }
}
