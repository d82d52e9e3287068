public import FoundationEssentials

/// Makes a value of an answer. The built-in ones are ``DataResponseSerializer``, ``StringResponseSerializer`` and
/// ``DecodableResponseSerializer``; write your own for other formats:
///
/// ```swift
/// struct CSVSerializer: ResponseSerializer {
///     func serialize(request: Request, response: Response, data: Data) throws -> [[String]] { … }
/// }
/// let rows = try await session.request(url).serializing(with: CSVSerializer())
/// ```
///
/// It is called off the session's thread and off the actor of the caller: it may compute for as long as it likes.
public protocol ResponseSerializer<Value>: Sendable {
    /// What it makes.
    associatedtype Value: Sendable

    /// Whether status and content type are checked before it is called where the caller said nothing about them. They are,
    /// unless it says otherwise: who interprets a body wants the one that was asked for, not that of an error page.
    var validatesByDefault: Bool { get }

    /// Makes the value.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent, with its session's defaults.
    ///   - response: The response: final head, trailers, metrics.
    ///   - data: The whole body, decoded as its `Content-Encoding` says; empty where there is none.
    /// - Throws: Whatever keeps it from being made; the reader gets it unchanged.
    func serialize(request: Request, response: Response, data: Data) async throws -> Value
}

extension ResponseSerializer {
    /// They are checked.
    public var validatesByDefault: Bool { true }
}

/// Makes a value with a closure.
public struct CustomResponseSerializer<Value: Sendable>: ResponseSerializer {
    /// Makes the value of request, response and body.
    public typealias Body = @Sendable (Request, Response, Data) async throws -> Value

    private let body: Body

    /// A serializer that calls the closure.
    public init(_ body: @escaping Body) { self.body = body }

    /// What the closure returns.
    public func serialize(request: Request, response: Response, data: Data) async throws -> Value {
        try await body(request, response, data)
    }
}
