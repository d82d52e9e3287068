import CurlEngine
public import HTTPTypes

/// A request to a server: a value that can be changed freely before it is sent.
///
/// ```swift
/// var request = Request("https://api.example.com/users", method: .post, body: .string("{}", contentType: "application/json"))
/// request.headers[.accept] = "application/json"
/// request.timeouts = Timeouts(total: .seconds(5))
/// let (data, response) = try await session.data(request)
/// ```
///
/// A request can also be made in one expression, with copies that differ in one property each:
///
/// ```swift
/// let request = try Request("https://api.example.com/users")
///     .withMethod(.post)
///     .withHeader(.accept("application/json"))
///     .withTimeouts(Timeouts(total: .seconds(5)))
///     .withParameters(newUser, encoder: .json)
/// ```
///
/// A URL that cannot be requested is an error when the request is sent, not when the request is created.
public struct Request: RequestConvertible, Sendable {
    /// The method. Any token is allowed (RFC 9110, section 9.1), except `CONNECT`.
    public var method: HTTPRequest.Method {
        get { storage.parts.method }
        set { change { $0.method = newValue } }
    }
    /// The `http` or `https` URL: absolute, or relative to the session's ``SessionConfiguration/baseURL``. Spaces and non-ASCII
    /// characters are percent-encoded when the request is sent; a fragment is not sent.
    public var url: String {
        get { storage.parts.url }
        set { change { $0.url = newValue } }
    }
    /// The fields to send, in this order. A field replaces the session's default fields of the same name.
    ///
    /// `Content-Length` and `Transfer-Encoding` always follow from the body and are ignored here.
    public var headers: HTTPFields {
        get { storage.parts.headers }
        set { change { $0.headers = newValue } }
    }
    /// The body, if any. Any method may have a body except `HEAD` and `TRACE` (RFC 9110, sections 9.3.2 and 9.3.8):
    /// sending a body with one of these two is an error.
    public var body: RequestBody? {
        get { storage.parts.body }
        set { change { $0.body = newValue } }
    }
    /// The limits on time; the session's limit applies if a limit is not set.
    public var timeouts: Timeouts? {
        get { storage.parts.timeouts }
        set { change { $0.timeouts = newValue } }
    }
    /// The versions of HTTP that the request may use; `nil` if the session's apply.
    public var httpVersion: HTTPVersionPolicy? {
        get { storage.parts.httpVersion }
        set { change { $0.httpVersion = newValue } }
    }
    /// The limit on the decoded response body; `nil` if the session's limit applies to bodies that are collected, and none to
    /// streams. For a download this is the limit on the file, regardless of the number of responses that deliver the file.
    /// A response that is followed, retried or answered with credentials does not count.
    public var maximumBodySize: ByteLimit? {
        get { storage.parts.maximumBodySize }
        set { change { $0.maximumBodySize = newValue } }
    }
    /// Whether compressed response bodies are requested and decoded; `nil` if the session's choice applies.
    public var decodesContent: Bool? {
        get { storage.parts.decodesContent }
        set { change { $0.decodesContent = newValue } }
    }
    /// The compression of the body before it is sent; `nil` if the body is sent as it is.
    public var compression: RequestCompression? {
        get { storage.parts.compression }
        set { change { $0.compression = newValue } }
    }
    /// The priority among the requests that wait for the same origin or rate limit; ``RequestPriority/normal`` by default.
    /// Requests of the same priority go in the order of their arrival. A waiting request goes next after eight requests of higher
    /// priorities have gone before it, so that no request waits forever.
    public var priority: RequestPriority {
        get { storage.parts.priority }
        set { change { $0.priority = newValue } }
    }
    /// Returns `true` if both requests share one storage, because neither was changed since it was copied.
    func isSame(as other: Request) -> Bool { storage === other.storage }

    /// The error that sending the request throws, for example from the conversion of the URL, if any.
    var conversionFailure: (any Error)? { storage.parts.conversionFailure }

    /// Returns a copy that fails with an error when it is sent. A failure that the request already has takes precedence.
    func failing(with error: TrellisError) -> Request {
        var error = error
        (error.method, error.url) = (method, URLRedaction.redact(url))
        var request = self
        request.change { $0.conversionFailure = $0.conversionFailure ?? error }
        return request
    }
    /// Whether the request is an upload, which has no default limit on its total time: the request was given to a verb
    /// or handle for uploads, or its body is not in memory.
    package var isUpload: Bool {
        get { storage.parts.isUpload || storage.parts.body?.isPulled == true }
        set { change { $0.isUpload = newValue } }
    }
    /// Whether the body of the response is delivered in its content coding, because a cache stores it so and decodes it
    /// afterwards. The content codings are requested nevertheless.
    package var keepsCoding: Bool {
        get { storage.parts.keepsCoding }
        set { change { $0.keepsCoding = newValue } }
    }
    /// The properties that few requests have; `nil` if none of them is set.
    var extras: RequestExtras.Box? {
        get { storage.parts.extras }
        set { change { $0.extras = newValue } }
    }
    /// The steps that are attached to the request.
    package var attachment: (any AnyObject & Sendable)? {
        get { storage.parts.attachment }
        set { change { $0.attachment = newValue } }
    }

    /// The properties, held as one reference: a request is passed on often, and every waiter keeps a copy of each request that it
    /// was given.
    private var storage: Storage

    /// Creates a request. An error in the conversion of the URL is thrown when the request is sent.
    ///
    /// - Parameters:
    ///   - url: The URL; a relative one is resolved against ``SessionConfiguration/baseURL``.
    ///   - method: The method; `GET` by default.
    ///   - query: The items that are added to the query of the URL, percent-encoded and in this order.
    ///   - headers: The fields; none by default.
    ///   - body: The body; none by default.
    public init(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
        headers: HTTPFields = HTTPFields(), body: RequestBody? = nil
    ) {
        do {
            let url = URLQuery.appending(query, to: try url.asURLString())
            storage = Storage(Parts(method: method, url: url, headers: headers, body: body))
        } catch {
            storage = Storage(Parts(method: method, headers: headers, body: body, conversionFailure: error))
        }
    }

    /// Creates a request with fields by text or as a list: see ``HeaderLiteral``. Everything else is as in the other initializer.
    @_disfavoredOverload
    public init(
        _ url: some URLConvertible, method: HTTPRequest.Method = .get, query: KeyValuePairs<String, String> = [:],
        headers: HeaderLiteral, body: RequestBody? = nil
    ) {
        self.init(url, method: method, query: query, headers: headers.fields, body: body)
    }

    /// Returns the request itself.
    ///
    /// - Throws: The error that the conversion of the URL threw, or that the check of its credentials found.
    public func asRequest() throws -> Request {
        if let conversionFailure { throw conversionFailure }
        return self
    }
}

extension Request: RedactedDescription {
    /// The method and the URL, without user information and without the values of query items whose names mark them as secrets or
    /// signatures.
    public var description: String { "Request(\(method.rawValue) \(URLRedaction.redact(url)))" }
}

extension Request {
    /// The properties of a request.
    private struct Parts: Sendable {
        var method: HTTPRequest.Method
        var url = ""
        var headers: HTTPFields
        var body: RequestBody?
        var timeouts: Timeouts?
        var httpVersion: HTTPVersionPolicy?
        var maximumBodySize: ByteLimit?
        var decodesContent: Bool?
        var compression: RequestCompression?
        var priority = RequestPriority.normal
        var conversionFailure: (any Error)?
        var extras: RequestExtras.Box?
        var attachment: (any AnyObject & Sendable)?
        var isUpload = false
        var keepsCoding = false

        /// Whether objects or closures of the user's may be among the properties.
        var mayHaveUserObjects: Bool {
            if attachment != nil || conversionFailure != nil { return true }
            if extras?.extras.mayHaveUserObjects == true { return true }
            guard let source = body?.source else { return false }
            switch source {
            case .data, .file: return false
            case .stream, .multipart: return true
            }
        }
    }

    /// The immutable storage of a request. Properties are read far more often than changed, and reading an immutable storage
    /// needs no exclusivity check at run time.
    private final class Storage: Sendable {
        let parts: Parts
        /// Whether objects or closures of the user's may be among the parts. A question to the parts in `deinit` would copy all
        /// of them.
        private let mayHaveUserObjects: Bool

        init(_ parts: consuming Parts) {
            mayHaveUserObjects = parts.mayHaveUserObjects
            self.parts = consume parts
        }

        deinit { if mayHaveUserObjects { releaseParts() } }

        @inline(never)
        private func releaseParts() { UserObjects.release([parts]) }
    }

    private mutating func change(_ body: (inout Parts) -> Void) {
        var parts = storage.parts
        body(&parts)
        storage = Storage(consume parts)
    }
}
