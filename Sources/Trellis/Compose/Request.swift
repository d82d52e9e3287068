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
    public var method: HTTPRequest.Method {
        get { storage.parts.method }
        set { change { $0.method = newValue } }
    }
    /// The `http` or `https` URL: absolute, or relative to the session's ``SessionConfiguration/baseURL``. Spaces and
    /// non-ASCII characters are percent-encoded when it is sent; a fragment is not sent.
    public var url: String {
        get { storage.parts.url }
        set { change { $0.url = newValue } }
    }
    /// The fields to send, in this order. They win over the session's default fields of the same name.
    ///
    /// `Content-Length` and `Transfer-Encoding` always follow from the body and are ignored here.
    public var headerFields: HTTPFields {
        get { storage.parts.headerFields }
        set { change { $0.headerFields = newValue } }
    }
    /// The body, `nil` for none. Any method may have one but `HEAD` and `TRACE` (RFC 9110, sections 9.3.2 and 9.3.8), which
    /// are an error with one when they are sent.
    public var body: RequestBody? {
        get { storage.parts.body }
        set { change { $0.body = newValue } }
    }
    /// The limits on time; those that it does not name are the session's.
    public var timeouts: Timeouts? {
        get { storage.parts.timeouts }
        set { change { $0.timeouts = newValue } }
    }
    /// The protocol versions that may be used; `nil`: the session's.
    public var httpVersion: HTTPVersionPolicy? {
        get { storage.parts.httpVersion }
        set { change { $0.httpVersion = newValue } }
    }
    /// The limit on the decoded response body; `nil`: the session's for bodies that are collected, none for streams. Of a
    /// download it is the limit on the file, however many answers bring it.
    public var maximumBodySize: ByteLimit? {
        get { storage.parts.maximumBodySize }
        set { change { $0.maximumBodySize = newValue } }
    }
    /// Whether compressed bodies are asked for and decoded; `nil`: as the session does.
    public var decodesContent: Bool? {
        get { storage.parts.decodesContent }
        set { change { $0.decodesContent = newValue } }
    }
    /// Whether and how the body is compressed before it is sent; `nil`: it is sent as it is.
    public var compression: RequestCompression? {
        get { storage.parts.compression }
        set { change { $0.compression = newValue } }
    }
    /// Whether it goes before or behind others that wait for the same origin or limit, ``RequestPriority/normal`` unless set.
    /// Those of one priority go in the order of their coming, and nobody waits for ever: where eight have gone before one of a
    /// lower priority, that one is next.
    public var priority: RequestPriority {
        get { storage.parts.priority }
        set { change { $0.priority = newValue } }
    }
    /// The two are one value: neither was changed since it was copied.
    func isSame(as other: Request) -> Bool { storage === other.storage }

    var conversionFailure: (any Error)? { storage.parts.conversionFailure }

    /// A copy that fails when it is sent.
    func failing(with error: TrellisError) -> Request {
        var error = error
        (error.method, error.url) = (method, URLRedaction.redact(url))
        var request = self
        request.change { $0.conversionFailure = $0.conversionFailure ?? error }
        return request
    }
    /// Its body may take as long as it likes: it was given to a verb or handle for uploads, or is no bytes in memory.
    var isUpload: Bool {
        get { storage.parts.isUpload || storage.parts.body?.isPulled == true }
        set { change { $0.isUpload = newValue } }
    }
    var extras: RequestExtras.Box? {
        get { storage.parts.extras }
        set { change { $0.extras = newValue } }
    }
    /// Its steps.
    package var attachment: (any RequestAttachment)? {
        get { storage.parts.attachment }
        set { change { $0.attachment = newValue } }
    }

    /// One reference: a request is handed on often, and whoever waits keeps a copy of each that it was given.
    private var storage: Storage

    /// A request.
    public init(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:],
        body: RequestBody? = nil
    ) {
        var parts = Parts(method: method, headerFields: headerFields, body: body)
        do { parts.url = try url.asURLString() } catch { parts.conversionFailure = error }
        storage = Storage(parts)
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

extension Request {
    /// What a request consists of.
    private struct Parts: Sendable {
        var method: HTTPRequest.Method
        var url = ""
        var headerFields: HTTPFields
        var body: RequestBody?
        var timeouts: Timeouts?
        var httpVersion: HTTPVersionPolicy?
        var maximumBodySize: ByteLimit?
        var decodesContent: Bool?
        var compression: RequestCompression?
        var priority = RequestPriority.normal
        var conversionFailure: (any Error)?
        var extras: RequestExtras.Box?
        var attachment: (any RequestAttachment)?
        var isUpload = false
    }

    /// Never changed: it is read far more often than a request is changed, and reading it is not checked at run time.
    private final class Storage: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    private mutating func change(_ body: (inout Parts) -> Void) {
        var parts = storage.parts
        body(&parts)
        storage = Storage(parts)
    }
}
