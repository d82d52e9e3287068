/// A type that has a value for a response without a body.
///
/// ```swift
/// _ = try await session.request(url).decoding(Empty.self)             // 204 No Content
/// let user = try await session.request(url).decoding(User?.self)      // nil with 204 No Content
/// ```
public protocol EmptyResponse {
    /// The value of nothing.
    static func emptyValue() -> Self
}

/// Nothing: what a response without a body decodes to.
public struct Empty: EmptyResponse, Codable, Sendable, Hashable {
    /// The one value.
    public static let value = Empty()

    /// The one value.
    public static func emptyValue() -> Empty { value }
}

extension Optional: EmptyResponse {
    /// `nil`.
    public static func emptyValue() -> Self { nil }
}
