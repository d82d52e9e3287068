import CurlEngine
public import HTTPTypes
private import Synchronization

/// The response to a request. Any status is a response, not an error.
public struct Response: Sendable {
    private final class Storage: Sendable {
        let head: ResponseHead
        let url: String
        let informational: [ResponseHead]
        let trailers: HTTPFields
        let metrics: Metrics
        let redirects: [Redirect]
        let bodyCut: BodyCut?
        let request: AnsweredRequest?
        /// The cache status that was added to the response.
        let addedStatus = LazyReference<AddedStatus>()

        init(
            _ head: ResponseHead, _ url: String, _ informational: [ResponseHead], _ trailers: HTTPFields,
            _ metrics: Metrics, _ redirects: [Redirect], _ bodyCut: BodyCut?, _ request: AnsweredRequest?
        ) {
            self.bodyCut = bodyCut
            self.request = request
            self.head = head
            self.url = url
            self.informational = informational
            self.trailers = trailers
            self.metrics = metrics
            self.redirects = redirects
        }
    }

    private final class AddedStatus: Sendable {
        let status: CacheStatus
        init(_ status: CacheStatus) { self.status = status }
    }

    // A single reference, because a response is passed on often and has many parts.
    private let storage: Storage

    /// Creates a response, for transports and tests.
    public init(
        head: ResponseHead, url: String, informational: [ResponseHead] = [], trailers: HTTPFields = HTTPFields(),
        metrics: Metrics = Metrics(), redirects: [Redirect] = []
    ) {
        self.init(
            head: head, url: url, informational: informational, trailers: trailers,
            metrics: metrics, redirects: redirects, bodyCut: nil, to: nil)
    }

    init(
        head: ResponseHead, url: String, informational: [ResponseHead] = [], trailers: HTTPFields = HTTPFields(),
        metrics: Metrics = Metrics(), redirects: [Redirect] = [], bodyCut: BodyCut? = nil, to request: AnsweredRequest?
    ) {
        storage = Storage(head, url, informational, trailers, metrics, redirects, bodyCut, request)
    }

    /// The parts of the request that errors and validators need; `nil` for a response that was not received.
    var request: AnsweredRequest? { storage.request }

    /// The reason why only the beginning of the body was read; `nil` if the whole body was, or is to be.
    var bodyCut: BodyCut? { storage.bodyCut }

    /// Indicates whether only the beginning of the body was read.
    var isBodyCut: Bool { bodyCut != nil }

    /// The final head.
    public var head: ResponseHead { storage.head }

    /// The URL that was requested, as it was sent. That of a WebSocket has the scheme `ws` or `wss`.
    public var url: String { storage.url }

    /// The heads with a status of 1xx before the final head, such as 103 Early Hints (RFC 8297).
    public var informational: [ResponseHead] { storage.informational }

    /// The fields that were received after the body. Empty until the body has ended.
    public var trailers: HTTPFields { storage.trailers }

    /// The metrics of the request so far; for the head of a stream, up to the head.
    public var metrics: Metrics {
        var metrics = storage.metrics
        if let added = storage.addedStatus.load() { metrics.cacheStatus = added.status }
        metrics.reporting = ServerTimingFields(head: head, trailers: trailers.isEmpty ? nil : trailers)
        return metrics
    }

    /// The number of the call in its process: ``RequestEvent/callID`` of the events that belong to it. Later calls have higher numbers.
    public var callID: UInt64 { storage.metrics.callID }

    /// The certificates of the server: ``Metrics/serverTrust``.
    public var serverTrust: ServerTrust? { storage.metrics.serverTrust }

    /// The way in which the cache has handled the request: ``Metrics/cacheStatus``.
    public var cacheStatus: CacheStatus? { storage.addedStatus.load()?.status ?? storage.metrics.cacheStatus }

    /// Adds a cache status to a response that only its call has yet, which takes a small part of the time of a copy with the status.
    /// Returns the response.
    func adding(_ status: consuming CacheStatus) -> Response {
        let added = AddedStatus(status)
        return storage.addedStatus.storeIfNil(added) === added ? self : with(added.status)
    }

    /// Returns the response with a cache status.
    func with(_ status: CacheStatus) -> Response {
        var metrics = storage.metrics
        metrics.cacheStatus = status
        return copy(metrics: metrics)
    }

    /// Returns the response with another head.
    func with(_ head: ResponseHead) -> Response { copy(head: head, metrics: metrics) }

    /// Returns the response with the reason why only the beginning of its body was read.
    func with(_ bodyCut: BodyCut) -> Response { copy(metrics: storage.metrics, bodyCut: bodyCut) }

    /// The response with a WebSocket's URL instead of its handshake's.
    var withWebSocketScheme: Response { copy(url: url.withWebSocketScheme, metrics: metrics) }

    private func copy(
        head: ResponseHead? = nil, url: String? = nil, metrics: Metrics, bodyCut: BodyCut? = nil
    ) -> Response {
        Response(
            head: head ?? self.head, url: url ?? self.url, informational: informational, trailers: trailers,
            metrics: metrics, redirects: redirects, bodyCut: bodyCut ?? self.bodyCut, to: request)
    }

    /// The redirects that led to this response, in their order.
    public var redirects: [Redirect] { storage.redirects }

    /// The status of the final head.
    public var status: HTTPResponse.Status { head.status }

    /// The version of HTTP that the response was sent with.
    public var version: HTTPVersion { head.version }

    /// The fields in the order of their arrival; a name that was repeated is repeated.
    public var headers: HTTPFields { head.headers }

    /// The status and the fields as a value of the HTTPTypes package.
    public var httpResponse: HTTPResponse { HTTPResponse(status: status, headerFields: headers) }
}

/// The reason why only the beginning of a response's body was read.
enum BodyCut: Sendable, Hashable {
    /// Every reader refuses the head.
    case refused
    /// The call follows the response, which is a redirect.
    case followed
    /// The body exceeds the limit in bytes, and the call may continue after the response. If the response is final, the call fails.
    case tooLarge(limit: Int)
}

extension Response: CustomStringConvertible, CustomDebugStringConvertible {
    /// The status, the URL without its secrets, and the version of HTTP.
    public var description: String { "\(status.code) \(URLRedaction.redact(url)) (HTTP/\(version))" }

    /// The same as ``description``.
    public var debugDescription: String { description }
}

/// The parts of a request that errors and validators of its response need, without its body and its steps: a response may outlive these.
struct AnsweredRequest: Sendable {
    let method: HTTPRequest.Method
    private let fields: HTTPFields
    /// The fields that follow `fields`; `nil` if there are none. They are searched only when a validator asks.
    private let defaultFields: HTTPFields?

    init(_ request: Request, defaultFields: HTTPFields? = nil) {
        method = request.method
        fields = request.headers
        self.defaultFields = defaultFields
    }

    /// The `Accept` of the request; `nil` if it accepts every type.
    var accept: String? { fields[.accept] ?? defaultFields?[.accept] }
}
