import CurlEngine
public import HTTPTypes
private import Synchronization

/// The response to a request. Any status is a response, not an error.
public struct Response: Sendable {
    private struct Parts: Sendable {
        var head: ResponseHead
        var url: String
        let informational: [ResponseHead]
        let trailers: HTTPFields
        var metrics: Metrics
        let redirects: [Redirect]
        var bodyCut: BodyCut?
        let request: AnsweredRequest?
    }

    private final class Storage: Sendable {
        let parts: Parts
        /// The cache status that was added to the response, if one was.
        let addedStatus = LazyReference<Boxed<CacheStatus>>()

        init(_ parts: consuming Parts) { self.parts = consume parts }
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

    package init(
        head: ResponseHead, url: String, informational: [ResponseHead] = [], trailers: HTTPFields = HTTPFields(),
        metrics: Metrics = Metrics(), redirects: [Redirect] = [], bodyCut: BodyCut? = nil, to request: AnsweredRequest?
    ) {
        storage = Storage(
            Parts(
                head: head, url: url, informational: informational, trailers: trailers, metrics: metrics,
                redirects: redirects, bodyCut: bodyCut, request: request))
    }

    /// The parts of the request that errors and validators need; `nil` for a response that was not received.
    var request: AnsweredRequest? { storage.parts.request }

    /// The reason why only the beginning of the body was read; `nil` if the whole body was, or is to be.
    var bodyCut: BodyCut? { storage.parts.bodyCut }

    /// Whether only the beginning of the body was read.
    package var isBodyCut: Bool { bodyCut != nil }

    /// The final head.
    public var head: ResponseHead { storage.parts.head }

    /// The URL that was requested, as it was sent. For a WebSocket, its scheme is `ws` or `wss`.
    public var url: String { storage.parts.url }

    /// The heads with a status of 1xx before the final head, such as 103 Early Hints (RFC 8297).
    public var informational: [ResponseHead] { storage.parts.informational }

    /// The fields that were received after the body. Empty until the body has ended.
    public var trailers: HTTPFields { storage.parts.trailers }

    /// The metrics of the request so far; for the head of a stream, up to the head.
    public var metrics: Metrics {
        var metrics = storage.parts.metrics
        if let added = storage.addedStatus.load() { metrics.cacheStatus = added.value }
        metrics.reporting = ServerTimingFields(head: head, trailers: trailers.isEmpty ? nil : trailers)
        return metrics
    }

    /// The number of the call in its process: ``RequestEvent/callID`` of the events that belong to it. Later calls have higher numbers.
    public var callID: UInt64 { storage.parts.metrics.callID }

    /// The time that the request waited for its turn: ``Metrics/queuedTime``, without a copy of the metrics.
    package var queuedTime: Int64 { storage.parts.metrics.queuedTime }

    /// The certificates of the server: ``Metrics/serverTrust``.
    public var serverTrust: ServerTrust? { storage.parts.metrics.serverTrust }

    /// The way in which the cache has handled the request: ``Metrics/cacheStatus``.
    public var cacheStatus: CacheStatus? { storage.addedStatus.load()?.value ?? storage.parts.metrics.cacheStatus }

    /// Adds a cache status to a response that only its call has yet, which takes a small part of the time of a copy with the status.
    /// Returns the response.
    func adding(_ status: consuming CacheStatus) -> Response {
        let added = Boxed(status)
        return storage.addedStatus.storeIfNil(added) === added ? self : with(added.value)
    }

    /// Returns the response with a cache status.
    package func with(_ status: CacheStatus) -> Response { changed { $0.metrics.cacheStatus = status } }

    /// Returns the response with the reason why only the beginning of its body was read.
    package func with(_ bodyCut: BodyCut) -> Response { changed { $0.bodyCut = bodyCut } }

    /// The response with a WebSocket's URL instead of its handshake's.
    package var withWebSocketScheme: Response {
        changed { ($0.url, $0.metrics) = (url.withWebSocketScheme, metrics) }
    }

    private init(_ parts: consuming Parts) { storage = Storage(consume parts) }

    private func changed(_ change: (inout Parts) -> Void) -> Response {
        var parts = storage.parts
        change(&parts)
        return Response(consume parts)
    }

    /// The redirects that led to this response, in their order.
    public var redirects: [Redirect] { storage.parts.redirects }

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
package enum BodyCut: Sendable, Hashable {
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
package struct AnsweredRequest: Sendable {
    let method: HTTPRequest.Method
    private let fields: HTTPFields
    /// The fields that follow `fields`, if any. They are searched only when a validator asks.
    private let defaultFields: HTTPFields?

    package init(_ request: Request, defaultFields: HTTPFields? = nil) {
        method = request.method
        fields = request.headers
        self.defaultFields = defaultFields
    }

    /// The `Accept` of the request; `nil` if it accepts every type.
    var accept: String? { fields[.accept] ?? defaultFields?[.accept] }
}
