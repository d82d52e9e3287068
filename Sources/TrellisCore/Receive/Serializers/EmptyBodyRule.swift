public import HTTPTypes

/// A rule for the responses that may have no body.
public struct EmptyBodyRule: Sendable, Hashable {
    /// Whether every response may have no body.
    private var isAlways = false
    /// The statuses with which a response may have no body; 204 and 205 by default.
    public var statusCodes: Set<Int>
    /// The methods after which a response may have no body; `HEAD` by default.
    public var methods: Set<HTTPRequest.Method>

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - statusCodes: The statuses: 204 and 205 unless given (RFC 9110, sections 15.3.5 and 15.3.6).
    ///   - methods: The methods: `HEAD` unless given (RFC 9110, section 9.3.2).
    public init(statusCodes: Set<Int> = [204, 205], methods: Set<HTTPRequest.Method> = [.head]) {
        self.statusCodes = statusCodes
        self.methods = methods
    }

    /// The rule that allows no body after `HEAD`, and with a status of 204 or 205.
    public static let standard = EmptyBodyRule()

    /// The rule that allows no body with any status and after any method.
    public static let always = {
        var rule = EmptyBodyRule()
        rule.isAlways = true
        return rule
    }()

    /// Returns whether the rule allows no body for a response.
    func allows(_ answer: Answer) -> Bool {
        isAlways || statusCodes.contains(answer.response.status.code) || methods.contains(answer.request.method)
    }

    /// Checks that the body is not empty, or that the rule allows an empty one.
    func check(_ answer: Answer, type: String) throws(TrellisError) {
        guard answer.body?.isEmpty == true, !allows(answer) else { return }
        throw answer.error(.serializationFailed(.emptyBody(type: type)))
    }
}

/// A type that has a value for a response without a body.
///
/// ```swift
/// _ = try await session.request(url).decode(Empty.self)             // 204 No Content
/// let user = try await session.request(url).decode(User?.self)      // nil with 204 No Content
/// ```
public protocol EmptyResponse {
    /// Returns the value for a response without a body.
    static func emptyValue() -> Self
}

/// An empty value, to which a response without a body is decoded.
public struct Empty: EmptyResponse, Codable, Sendable, Hashable {
    /// The only value of the type.
    public static let value = Empty()

    /// Returns the only value of the type.
    public static func emptyValue() -> Empty { value }
}

extension Optional: EmptyResponse {
    /// Returns `nil`.
    public static func emptyValue() -> Self { nil }
}
