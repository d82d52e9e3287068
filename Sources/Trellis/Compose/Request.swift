public import HTTPTypes

/// What is asked of a server: a value, changed freely before it is sent.
///
/// ```swift
/// var request = Request("https://api.example.com/users", method: .post, body: .string("{}", contentType: "application/json"))
/// request.headerFields[.accept] = "application/json"
/// request.timeouts = Timeouts(total: .seconds(5))
/// let (data, response) = try await session.data(request)
/// ```
///
/// A URL that cannot be requested is an error when the request is sent, not when it is made.
public struct Request: RequestConvertible, Sendable {
    /// The method. Any token is allowed (RFC 9110, section 9.1), except `CONNECT`.
    public var method: HTTPRequest.Method
    /// The absolute `http` or `https` URL. Spaces and non-ASCII characters are percent-encoded when it is sent; a fragment
    /// is not sent.
    public var url: String
    /// The fields to send, in this order. They win over the session's default fields of the same name.
    ///
    /// `Content-Length` and `Transfer-Encoding` always follow from the body and are ignored here.
    public var headerFields: HTTPFields
    /// The body, `nil` for none.
    public var body: RequestBody?
    /// The limits on time; `nil`: the session's.
    public var timeouts: Timeouts?
    /// The protocol versions that may be used; `nil`: the session's.
    public var httpVersion: HTTPVersionPolicy?
    /// The limit on the decoded response body; `nil`: the session's for bodies that are collected, none for streams.
    public var maximumBodySize: ByteLimit?
    /// Whether compressed bodies are asked for and decoded; `nil`: as the session does.
    public var decodesContent: Bool?
    /// Whether and how the body is compressed before it is sent; `nil`: it is sent as it is.
    public var compression: RequestCompression?
    let conversionFailure: (any Error)?

    /// A request.
    public init(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:],
        body: RequestBody? = nil
    ) {
        self.method = method
        self.headerFields = headerFields
        self.body = body
        do {
            self.url = try url.asURLString()
            conversionFailure = nil
        } catch {
            self.url = ""
            conversionFailure = error
        }
    }

    /// The request itself.
    ///
    /// - Throws: What the URL's own conversion threw.
    public func asRequest() throws -> Request {
        if let conversionFailure { throw conversionFailure }
        return self
    }
}
