import CurlEngine
import FoundationEssentials
public import HTTPTypes

/// A moment in a call: its beginning, a connection, a head, a retry, its end.
///
/// ```swift
/// for await event in session.requestEvents {
///     if case .retrying = event.kind { print(event.callID, event.method, event.url) }
/// }
/// ```
///
/// <doc:Events> has the order of the events in a table. An observer gets the kinds of events of its ``EventDetail``.
public struct RequestEvent: Sendable {
    /// The identifier of the call, unique in its process; later calls have higher identifiers. 0 for
    /// ``Kind/eventsDropped(_:)`` of an observer that gets the events of several calls; ``url`` is empty then.
    public var callID: UInt64 { storage.origin.subject.id }
    /// The method that the call was made with. Adapters and redirects may send another one.
    public var method: HTTPRequest.Method { storage.origin.subject.method }
    /// The URL that the call was made with, completed by the session's base URL and default query items, without its secrets: user
    /// information, and the values of query items whose names mark them as secrets or signatures. The same for all events of the
    /// call, wherever adapters and redirects lead.
    public var url: String { storage.origin.subject.url }
    /// The number of the attempt that the event belongs to, from 1 on.
    public var attempt: Int { storage.origin.attempt }
    /// The time since the call was made.
    public var elapsed: Duration { .nanoseconds(storage.origin.elapsed) }
    /// The instant at which the call was made.
    package var callStart: Date { storage.origin.subject.start }
    /// The kind of the event.
    public var kind: Kind { storage.kind }

    /// The properties behind one reference, because an event is passed on often, and to every observer.
    private let storage: any EventStorage

    /// Creates an event.
    ///
    /// - Parameter elapsed: The time since the call was made, in nanoseconds.
    init(of subject: EventSubject, attempt: Int, elapsed: Int64, kind: consuming Kind) {
        self.init(EventOrigin(subject: subject, attempt: attempt, elapsed: elapsed), kind)
    }

    /// Creates an event of a known kind.
    init(_ origin: EventOrigin, _ kind: consuming Kind) { storage = KindStorage(origin, kind) }

    /// Creates an event from its properties.
    init(_ storage: any EventStorage) { self.storage = storage }

    /// The detail that an observer asks for to get the event.
    var detail: EventDetail { storage.detail }

    /// The kinds of events.
    public enum Kind: Sendable {
        /// The start of the call, with the caller's request, without the session's defaults.
        case created(Request)
        /// A handle's ``DataRequest/resume()`` after a suspension.
        case resumed
        /// A handle's ``DataRequest/suspend()``.
        case suspended
        /// The return of an adapter, with the request that the adapter made.
        case adapted(Request)
        /// The change of a URL from `http` to `https`, because its host is to be reached over https alone (``SessionConfiguration/hsts``),
        /// with the changed request. Like a redirect within the client; ``redirected(_:)`` of a changed redirect precedes the event.
        case upgraded(Request)
        /// The decision to send the request to an alternative service of its origin (``SessionConfiguration/alternativeServices``).
        case alternativeSelected(AlternativeService)
        /// The failure of the alternative service. The service is not used for a while. If no connection to it was made, an evaluator has
        /// not decided in time, or the service does not serve the origin (421), the request goes to the origin now.
        case alternativeFailed(AlternativeService, because: any Error)
        /// The choice of an endpoint of the origin for the request (``EndpointPool``).
        case endpointSelected(Endpoint)
        /// The ejection of an endpoint of the origin after this attempt: for a while, it gets no requests. Occurs again if the
        /// single request that tested the endpoint has failed.
        case endpointEjected(Endpoint, for: Duration)
        /// The return of an endpoint of the origin, which this attempt has tested with success.
        case endpointReturned(Endpoint)
        /// The decision about the proxy of a hop, if there are proxies for some requests. The first of its proxies is tried now.
        case proxySelected(ProxyDecision)
        /// A change of the files of ``TLSConfiguration``, which this request is the first to notice. Requests use the new contents from now
        /// on, or the earlier ones if the new ones cannot be used because of an error. The paths name the files that differ from
        /// the contents in use.
        case trustFilesChanged([String], (any Error)?)
        /// The beginning of the wait for a connection slot, with the request completed by the session's defaults.
        case queued(Request)
        /// The assignment of a connection slot: a connection is being made or found.
        case admitted
        /// The beginning of the lookup of a name, for this request or for another one that needs the same name: the server's, or the one
        /// of a proxy. A name whose addresses were looked up within the last minute is not looked up again.
        case lookingUp(host: String)
        /// The end of the lookup: an address of the name is known. Does not occur if the lookup fails, or if a connection becomes free.
        case lookedUp(host: String)
        /// The beginning of a connection to an address with its port, or to the path of a socket: of the server, or of a proxy.
        /// Several addresses of a name may be tried at the same time (RFC 8305), each with an event.
        case connecting(to: String)
        /// The refusal of the request, or of one address of several, by the session's ``EgressPolicy``.
        case egressRefused(TrellisError.EgressRefusal)
        /// The beginning of a TLS handshake with a host: the server, or before it a proxy.
        case handshaking(with: String)
        /// The opening of another connection to the origin, because all others carry `streamLimit` requests: as many as the server allows,
        /// as far as its limit is known, and at most 1,000. `number` counts the connections to the origin that are in use, including the
        /// new one.
        case connectionAdded(number: Int, streamLimit: Int)
        /// A deviation of the server's certificates that an evaluator has reported and does not enforce (``PinEnforcement``).
        case serverTrustReported(ServerTrustReport)
        /// The beginning of the evaluation of certificates that the server has not shown before, by an evaluator of the user's own. If the
        /// evaluator trusts the server, the request is queued again, and sent on a connection with the same certificates.
        case evaluatingServerTrust(ServerTrust)
        /// The result of the evaluation of the server's certificates by an evaluator (``ServerTrustManager``): the server is trusted, or
        /// refused because of the error. Occurs for each new connection, and for each refusal. The certificates are `nil` if they could not
        /// be read. The verification without an evaluator is a part of the handshake: `connected` or an error of `exchangeEnded` follows.
        indirect case serverTrustEvaluated(ServerTrust?, (any Error)?)
        /// The readiness of the connection, a new one or one that exists: the request is being sent. Occurs again if the request is
        /// sent again on another connection, because the first one was dead or the server has refused the request without processing it.
        indirect case connected(ConnectionInfo)
        /// The sending of the head of a request with a body, as far as is known. A body in memory may be on its way with it. Occurs
        /// again with each ``connected(_:)``.
        case requestHeadSent
        /// The sending of the complete request, with the number of bytes of its body. The last byte was passed to the system, or over
        /// HTTP/2 and HTTP/3 to the connection that the request shares, as far as is known.
        case requestSent(bodySize: Int64)
        /// The arrival of an informational response head (1xx).
        case informational(ResponseHead)
        /// The arrival of the final response head.
        case head(ResponseHead)
        /// The end of the request on the wire, with an error or with its complete response: the end of the response's body. The metrics
        /// have the bytes in both directions, and tell whether the connection was kept (``Metrics/isConnectionKept``).
        indirect case exchangeEnded(Metrics, (any Error)?)
        /// A redirect response that is followed.
        case redirected(Redirect)
        /// The failure of an attempt, after which another attempt follows with a delay.
        case retrying(after: Duration, because: (any Error)?)
        /// A delay by a rate limit of the host. The delay lasts for `wait` unless other requests go first or give up.
        case rateLimited(host: String, wait: Duration)
        /// The beginning of a wait, because the host has as many requests as its concurrency limit permits, or is paused
        /// (``AdaptiveConcurrency``).
        case concurrencyLimited(host: String, limit: Int)
        /// A reduction of the host's concurrency limit, because the host was too busy for this attempt. The host gets no requests for the
        /// time of `pause`, if it has asked for one.
        case concurrencyReduced(host: String, limit: Int, pause: Duration?)
        /// The opening of the host's circuit with this attempt: for a while, every request to the host fails at once. The event
        /// also occurs if the circuit was open before, and the single request that tested whether it can be closed has failed.
        case circuitOpened(host: String, for: Duration)
        /// The closing of the host's circuit: this attempt tested whether the circuit can be closed, and has succeeded.
        case circuitClosed(host: String)
        /// The start of another attempt beside the current one, because no response has been received within the given time.
        case hedging(after: Duration)
        /// The beginning of the wait for the response to an identical request, which belongs to another call.
        case coalesced(callID: UInt64)
        /// The use of the cache by an exchange, as soon as it is known. For a response that is stored while it is read,
        /// ``CacheStatus/isStored`` is the intention.
        case cacheUsed(CacheStatus)
        /// A failure of the cache's storage, after it has worked before. Requests are sent: stored responses are not found, or new ones are
        /// not stored.
        case cacheFailed(any Error)
        /// A failure of the file of a ``CookieFile``, after it has worked before, or at its first use. Requests have the cookies in memory,
        /// and those that could not be written are written later. The error is a ``FileFailure``.
        case cookiesFailed(any Error)
        /// The beginning of the decoded body of a response, with its secrets; the number of bytes that the body had up to its end, or
        /// until its reader left it; and its content type, empty if it has none. Only sessions with a ``RequestLog`` of the level
        /// ``RequestLog/Level/bodies(limit:)`` have this event.
        case bodyReceived(Data, size: Int, type: String)
        /// The response that the caller gets.
        case finished(Response)
        /// The check of all conditions that the reader sets for the response, with the first error if the response does not meet
        /// them.
        case validated((any Error)?)
        /// The end of a serializer with its duration, and with an error if the serializer has not made a value from the response.
        case serialized(Duration, (any Error)?)
        /// The continuation of a download: the response brings the bytes of the file from an offset on.
        case downloadContinued(at: Int64)
        /// The move of the complete file of a download from the path of its partial file to its destination. The event belongs to the call
        /// whose response was accepted last.
        case fileMoved(from: String, to: String)
        /// The error that the caller gets: ``TrellisError``, `CancellationError`, or the error that a step threw.
        case failed(any Error)
        /// The loss of a number of events, the ones just before the next event of this observer, because the observer was too slow
        /// (``SessionConfiguration/eventBufferSize``). The event belongs to no call, unless its observer is a monitor of one request
        /// (``Request/eventMonitors``). Its attempt is 1, and its elapsed time zero.
        case eventsDropped(Int)
    }
}

extension RequestEvent {
    /// Creates the event of lost events.
    ///
    /// - Parameter subject: The call of all events of the observer; `nil` if the observer gets the events of several calls.
    init(dropped count: Int, of subject: EventSubject?) {
        self.init(of: subject ?? .noCall, attempt: 1, elapsed: 0, kind: .eventsDropped(count))
    }
}

/// The call that events belong to: the properties that all of its events share.
final class EventSubject: Sendable {
    /// The subject of events that belong to no call.
    static let noCall = EventSubject(id: 0, method: .get, url: "", start: Date(timeIntervalSince1970: 0))

    let id: UInt64
    let method: HTTPRequest.Method
    /// The instant at which the call was made, by the system's clock. An observer may get the events much later.
    let start: Date
    private let fullURL: String
    private let redactedURL = LazyReference<Redacted>()

    private final class Redacted: Sendable {
        let url: String
        init(_ url: String) { self.url = url }
    }

    /// - Parameter url: The URL with its secrets.
    init(id: UInt64, method: HTTPRequest.Method, url: String, start: Date = Date()) {
        self.id = id
        self.method = method
        self.start = start
        fullURL = url
    }

    /// The URL without its secrets, made when it is first read.
    var url: String {
        if let known = redactedURL.load() { return known.url }
        return redactedURL.storeIfNil(Redacted(URLRedaction.redact(fullURL))).url
    }
}
