public import FoundationEssentials
private import HTTPTypes

/// A condition that an answer has to meet before it is read.
///
/// ```swift
/// let notStale = Validator { _, response, _ in
///     guard response.headerFields[.age] == nil else { throw Stale() }
/// }
/// let page = try await session.request(url).validate(notStale).decoding(Page.self)
/// ```
public struct Validator: Sendable {
    /// A check of the user's own: the request as it was sent, the response, and the whole body, which is `nil` for a stream,
    /// whose body has not come yet. What it throws is what the reader gets, unchanged.
    public typealias Check =
        @Sendable (_ request: Request, _ response: Response, _ body: Data?) async throws -> Void

    enum Rule: Sendable {
        case status(StatusCodes)
        /// `nil`: what the request accepts.
        case contentType(AcceptableTypes?)
        case check(Check)
    }

    let rule: Rule

    private init(_ rule: Rule) { self.rule = rule }

    /// A validator of your own.
    public init(_ check: @escaping Check) { rule = .check(check) }

    /// A status of 200 to 299.
    public static let successfulStatus = statusCode(200..<300)

    /// A content type that the `Accept` of the request includes. Without one everything is accepted.
    public static let acceptedContentType = Validator(.contentType(nil))

    /// A status in a range, such as `200..<300` or `..<400`.
    ///
    /// The error is of kind ``TrellisError/Kind/unacceptableStatus``.
    public static func statusCode(_ range: some RangeExpression<Int>) -> Validator {
        Validator(.status(.range(range.relative(to: 0..<1000))))
    }

    /// One of several statuses.
    ///
    /// The error is of kind ``TrellisError/Kind/unacceptableStatus``.
    public static func statusCode(_ codes: [Int]) -> Validator { Validator(.status(.set(Set(codes)))) }

    /// One of several content types, such as `application/json` or `image/*`. Parameters do not count.
    ///
    /// An empty body passes. A response without a content type, or with one that is malformed, passes only if `*/*` is
    /// among those that are accepted. The error is of kind ``TrellisError/Kind/unacceptableContentType``.
    public static func contentType(_ types: some Sequence<String>) -> Validator {
        Validator(.contentType(AcceptableTypes(types)))
    }

    /// Checks an answer.
    func validate(_ answer: Answer) async throws {
        guard let observer = answer.observer else { return try await check(answer) }
        do {
            try await check(answer)
            observer.didValidate(nil)
        } catch {
            observer.didValidate(error)
            throw error
        }
    }

    /// Whether a head meets the condition; `nil` where it takes the body to tell.
    func isMet(by head: ResponseHead, of request: Request) -> Bool? {
        switch rule {
        case .status(let codes): codes.contain(head.status.code)
        case .contentType(nil) where request.headerFields[.accept] == nil: true
        case .contentType(let types):
            (types ?? AcceptableTypes(of: request)).accept(head.headerFields[.contentType].flatMap { MediaType($0) })
        case .check: nil
        }
    }

    private func check(_ answer: Answer) async throws {
        switch rule {
        case .status(let codes):
            let status = answer.response.status.code
            guard codes.contain(status) else { throw answer.error(.validationFailed(.status(status))) }
        case .contentType(let types):
            // Nobody needs the response's fields to be parsed for a request that accepts everything.
            if types == nil, answer.request.headerFields[.accept] == nil { return }
            let types = types ?? AcceptableTypes(of: answer.request)
            let found = answer.response.headerFields[.contentType]
            guard answer.hasNoContent || types.accept(found.flatMap { MediaType($0) }) else {
                throw answer.error(.validationFailed(.contentType(found, acceptable: types.names)))
            }
        case .check(let check): try await check(answer.request, answer.response, answer.body)
        }
    }
}

/// A set of statuses.
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
