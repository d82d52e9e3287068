public import FoundationEssentials
private import HTTPTypes

/// A condition that a response has to meet before its body is read.
///
/// ```swift
/// let notStale = Validator { _, response, _ in
///     guard response.headers[.age] == nil else { throw Stale() }
/// }
/// let page = try await session.request(url).validate(notStale).decode(Page.self)
/// ```
public struct Validator: Sendable {
    /// A closure that throws an error if a response is not acceptable. Its arguments are the request as it was sent, the response, and
    /// the complete body, which is `nil` for a stream, because it has not been received yet. The reader receives the error unchanged.
    public typealias Check =
        @Sendable (_ request: Request, _ response: Response, _ body: Data?) async throws -> Void

    /// The property that is checked, and the accepted values.
    enum Rule: Sendable {
        case status(StatusCodes)
        /// The accepted content types; `nil` if they are those in the `Accept` of the request.
        case contentType(AcceptableTypes?)
        case check(Check)
    }

    let rule: Rule

    private init(_ rule: Rule) { self.rule = rule }

    /// Creates a validator from a check of your own.
    public init(_ check: @escaping Check) { rule = .check(check) }

    /// A validator that accepts a status of 200 to 299.
    public static let successfulStatus = statusCode(200..<300)

    /// A validator that accepts a content type that the `Accept` of the request includes. Without an `Accept`, every type is accepted.
    public static let acceptedContentType = Validator(.contentType(nil))

    /// Returns a validator that accepts a status in a range, such as `..<400`.
    ///
    /// The error is of kind ``TrellisError/Kind/unacceptableStatus``.
    public static func statusCode(_ range: some RangeExpression<Int>) -> Validator {
        Validator(.status(.range(range.relative(to: 0..<1000))))
    }

    /// Returns a validator that accepts a status in a range, such as `200..<300` or `500...`.
    ///
    /// The error is of kind ``TrellisError/Kind/unacceptableStatus``.
    public static func statusCode(_ range: some RangeExpression<Int> & Sequence<Int>) -> Validator {
        // The two other methods alone would be ambiguous for such a range.
        Validator(.status(.range(range.relative(to: 0..<1000))))
    }

    /// Returns a validator that accepts one of several statuses, such as `[200, 404]`.
    ///
    /// The error is of kind ``TrellisError/Kind/unacceptableStatus``.
    ///
    /// - Parameter codes: The statuses, in any order.
    public static func statusCode(_ codes: some Sequence<Int>) -> Validator { Validator(.status(.set(Set(codes)))) }

    /// Returns a validator that accepts one of several content types, such as `application/json` or `image/*`. Parameters do not count.
    ///
    /// An empty body passes. A response without a content type, or with a malformed one, passes only if `*/*` is among the accepted
    /// types. The error is of kind ``TrellisError/Kind/unacceptableContentType``.
    public static func contentType(_ types: some Sequence<String>) -> Validator {
        Validator(.contentType(AcceptableTypes(types)))
    }

    /// Returns whether a head meets the condition; `nil` if the body is needed to decide.
    func isMet(by head: ResponseHead, of request: Request) -> Bool? {
        switch rule {
        case .status(let codes): codes.contain(head.status.code)
        case .contentType(nil) where request.headers[.accept] == nil: true
        case .contentType(let types):
            (types ?? AcceptableTypes(of: request)).accept(head.headers[.contentType].flatMap { MediaType($0) })
        case .check: nil
        }
    }

    /// Checks a response.
    ///
    /// - Throws: The error of a response that is not accepted.
    func check(_ answer: Answer) async throws {
        if case .check(let check) = rule { return try await check(answer.request, answer.response, answer.body) }
        let reason = refusal(
            of: answer.response, hasNoContent: answer.hasNoContent, accept: answer.request.headers[.accept])
        if let reason { throw answer.error(reason) }
    }

    /// Returns why a response is not accepted by its status or its content type; `nil` if it is.
    ///
    /// - Parameter accept: The `Accept` of the request; `nil` if it accepts every type.
    func refusal(
        of response: Response, hasNoContent: @autoclosure () -> Bool, accept: @autoclosure () -> String?
    ) -> TrellisError.Reason? {
        switch rule {
        case .status(let codes):
            let status = response.status.code
            return codes.contain(status) ? nil : .validationFailed(.status(status))
        case .contentType(let types):
            // For a request that accepts every type, the response's fields need not be parsed.
            guard let types = types ?? accept().map({ AcceptableTypes([$0]) }) else { return nil }
            let found = response.headers[.contentType]
            guard !hasNoContent(), !types.accept(found.flatMap { MediaType($0) }) else { return nil }
            return .validationFailed(.contentType(found, acceptable: types.names))
        case .check: return nil
        }
    }
}

/// The statuses that a validator accepts.
enum StatusCodes: Sendable {
    case range(Range<Int>)
    case set(Set<Int>)

    func contain(_ code: Int) -> Bool {
        switch self {
        case .range(let range): range.contains(code)
        case .set(let codes): codes.contains(code)
        }
    }
}
