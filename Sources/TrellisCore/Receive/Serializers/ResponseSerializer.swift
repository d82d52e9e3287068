public import FoundationEssentials

/// A serializer that makes a value of a response. The built-in serializers are ``DataResponseSerializer``,
/// ``StringResponseSerializer`` and ``DecodableResponseSerializer``; write your own for other formats:
///
/// ```swift
/// struct CSVSerializer: ResponseSerializer {
///     func serialize(request: Request, response: Response, data: Data) throws -> [[String]] { … }
/// }
/// let rows = try await session.request(url).serialize(with: CSVSerializer())
/// ```
///
/// A serializer is called off the session's thread and off the actor of the caller, and may compute for any length of time.
public protocol ResponseSerializer<Value>: Sendable {
    /// The type of the value.
    associatedtype Value: Sendable

    /// Whether the status and the content type are checked before the serializer is called, if the caller named no
    /// validators for them. `true` unless the serializer says otherwise, because a serializer that interprets a body needs the
    /// requested one, not the body of an error page.
    var validatesByDefault: Bool { get }

    /// Returns the value of a response.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent, with its session's defaults.
    ///   - response: The response: final head, trailers, metrics.
    ///   - data: The complete body, decoded as its `Content-Encoding` says; empty if there is none.
    /// - Throws: Any error that prevents the value from being made; the reader receives the error unchanged.
    func serialize(request: Request, response: Response, data: Data) async throws -> Value
}

extension ResponseSerializer {
    /// The default, `true`: the status and the content type are checked.
    public var validatesByDefault: Bool { true }
}

/// A serializer that makes a value with a closure.
public struct CustomResponseSerializer<Value: Sendable>: ResponseSerializer {
    /// A closure that makes the value of the request, the response and the body.
    public typealias Body = @Sendable (Request, Response, Data) async throws -> Value

    private let body: Body

    /// Creates a serializer that calls the closure.
    public init(_ body: @escaping Body) { self.body = body }

    /// Returns the value that the closure returns.
    ///
    /// - Throws: The error of the closure.
    public func serialize(request: Request, response: Response, data: Data) async throws -> Value {
        try await body(request, response, data)
    }
}
