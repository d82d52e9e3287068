public import FoundationEssentials
public import HTTPTypes
public import TrellisCore

/// A request as a ``MockTransport`` or a ``MockRouter`` received it, complete with its body.
public struct RecordedRequest: Sendable {
    /// The number of the request on its transport, from 1, in the order they were received completely.
    public let number: Int
    /// The request as its transport got it, with the body in memory, and without its steps and its monitors.
    public let request: TransportRequest
    /// The fields after the body (RFC 9110, section 6.5).
    public let trailers: HTTPFields
    /// The chunks of a streamed body; `nil` if the body was in memory.
    private let streamed: [Data]?

    /// - Parameter request: The request without its call: a record outlives the call.
    init(_ number: Int, _ request: TransportRequest, chunks: [Data]? = nil, trailers: HTTPFields = HTTPFields()) {
        self.number = number
        self.request = request
        self.trailers = trailers
        streamed = chunks
    }

    /// The pieces that the body was sent in, in order. A streamed body has the chunks of its source, a file or a large body in memory
    /// those that the session reads at a time, and any other body is one piece. A request without a body has none.
    public var chunks: [Data] {
        if let streamed { return streamed }
        guard let body, !body.isEmpty else { return [] }
        return [body]
    }

    /// The method.
    public var method: HTTPRequest.Method { request.method }
    /// The normalised absolute URL.
    public var url: String { request.url }
    /// The path of the URL, percent-encoded.
    public var path: String { request.path }
    /// The query of the URL without its question mark, percent-encoded; `nil` if the URL has none.
    public var query: String? { request.query }
    /// The fields, with the session's default fields.
    public var headers: HTTPFields { request.headers }
    /// The body; `nil` if the request has none.
    public var body: Data? { request.body?.data }

    /// The value of the field with a name, in any case; `nil` if there is none. The values of several fields are joined with
    /// commas (`Cookie` with semicolons).
    public subscript(name: String) -> String? { request[name] }
}

extension RecordedRequest: CustomStringConvertible {
    /// The method and the URL, without user information and without the values of secret query items.
    public var description: String { "\(method.rawValue) \(request.redactedURL)" }
}
