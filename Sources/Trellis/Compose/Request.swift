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
/// Or in one expression, with copies that differ in one thing each:
///
/// ```swift
/// let request = try Request("https://api.example.com/users")
///     .withMethod(.post)
///     .withHeader(.accept("application/json"))
///     .withTimeouts(Timeouts(total: .seconds(5)))
///     .withParameters(newUser, encoder: .json)
/// ```
///
/// A URL that cannot be requested is an error when the request is sent, not when it is made.
public struct Request: RequestConvertible, Sendable {
    /// The method. Any token is allowed (RFC 9110, section 9.1), except `CONNECT`.
    public var method: HTTPRequest.Method
    /// The `http` or `https` URL: absolute, or relative to the session's ``SessionConfiguration/baseURL``. Spaces and
    /// non-ASCII characters are percent-encoded when it is sent; a fragment is not sent.
    public var url: String
    /// The fields to send, in this order. They win over the session's default fields of the same name.
    ///
    /// `Content-Length` and `Transfer-Encoding` always follow from the body and are ignored here.
    public var headerFields: HTTPFields
    /// The body, `nil` for none. Any method may have one but `HEAD` and `TRACE` (RFC 9110, sections 9.3.2 and 9.3.8), which
    /// are an error with one when they are sent.
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
    /// Whether it goes before or behind others that wait for the same origin or limit, ``RequestPriority/normal`` unless set.
    /// Those of one priority go in the order of their coming, and nobody waits for ever: where eight have gone before one of a
    /// lower priority, that one is next.
    public var priority = RequestPriority.normal
    let conversionFailure: (any Error)?
    var extras: RequestExtras.Box?
    /// Its steps.
    package var attachment: (any RequestAttachment)?

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

    /// A request whose fields are a list, which reads well with the fields' own makers:
    /// `[.accept("application/json"), .authorization(bearerToken: token)]`.
    public init(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, headerFields: [HTTPField],
        body: RequestBody? = nil
    ) {
        self.init(url, method: method, headerFields: HTTPFields(headerFields), body: body)
    }

    /// The request itself.
    ///
    /// - Throws: What the URL's own conversion threw.
    public func asRequest() throws -> Request {
        if let conversionFailure { throw conversionFailure }
        return self
    }
}
