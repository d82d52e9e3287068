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
