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
        /// The cache status that was added to the response.
        let addedStatus = LazyReference<AddedStatus>()

        init(
            _ head: ResponseHead, _ url: String, _ informational: [ResponseHead], _ trailers: HTTPFields,
            _ metrics: Metrics, _ redirects: [Redirect], bodyCut: BodyCut?
        ) {
            self.bodyCut = bodyCut
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
            metrics: metrics, redirects: redirects, bodyCut: nil)
    }

    init(
        head: ResponseHead, url: String, informational: [ResponseHead], trailers: HTTPFields,
        metrics: Metrics, redirects: [Redirect], bodyCut: BodyCut?
    ) {
        storage = Storage(
            head, url, informational, trailers, metrics, redirects, bodyCut: bodyCut)
    }

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
        return Response(
            head: head, url: url, informational: informational, trailers: trailers, metrics: metrics,
            redirects: redirects, bodyCut: bodyCut)
    }

    /// Returns the response with another head.
    func with(_ head: ResponseHead) -> Response {
        Response(
            head: head, url: url, informational: informational, trailers: trailers, metrics: metrics,
            redirects: redirects, bodyCut: bodyCut)
    }

    /// Returns the response with the reason why only the beginning of its body was read.
    func with(_ bodyCut: BodyCut) -> Response {
        Response(
            head: head, url: url, informational: informational, trailers: trailers, metrics: storage.metrics,
            redirects: redirects, bodyCut: bodyCut)
    }

    /// The response with the URL of a WebSocket in place of that of its handshake.
    var withWebSocketScheme: Response {
        Response(
            head: head, url: url.withWebSocketScheme, informational: informational, trailers: trailers,
            metrics: metrics, redirects: redirects, bodyCut: bodyCut)
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
