package import CurlEngine
public import FoundationEssentials
public import HTTPTypes

/// The layer that sends requests: the session's engines, or in tests one of TrellisTesting's, which responds without a network.
///
/// A transport gets one absolute URL and performs one hop. The framework handles redirects, retries, queues and time limits, in the same
/// way for every transport.
///
/// The requirements are no part of the stable interface: a transport of your own imports them with `@_spi(Transport) import Trellis`, and
/// they may change in any version.
public protocol Transport: Sendable {
    /// Starts one attempt. Called on the session's engine thread, so an implementation must return without waiting.
    ///
    /// The events must be sent in order, from any thread, one after the other. The last event is ``TransportEvents/transportDidEnd(_:)``.
    /// No events are required after ``TransportTask/cancel()``.
    ///
    /// ```swift
    /// func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
    ///     events.transportIsConnected()
    ///     events.transportDidReceiveHead(ResponseHead(status: .init(code: 418)))
    ///     events.transportDidEnd(TransportEnd())
    ///     return Brewed()  // a task that has nothing to do any more
    /// }
    /// ```
    @_spi(Transport) func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask
    /// Whether the transport makes connections, for which the session chooses proxies, asks its resolver and reads the files of
    /// its certificates before an attempt. If `false`, the session does nothing of that, and reaches no network and no file for it.
    @_spi(Transport) var makesConnections: Bool { get }
    /// Closes one idle connection to an origin (`https://example.com:443`, or `https://example.com:443 HTTP/1.1` for requests that demand a
    /// version), or all idle connections if `origin` is `nil`. Called on the session's engine thread. The default does nothing.
    @_spi(Transport) func closeIdleConnections(to origin: String?)
    /// Closes the idle connections to an origin by some routes, and the others after their request. Called on the session's engine thread,
    /// when endpoints of the origin have left. The default does nothing.
    ///
    /// - Parameters:
    ///   - origin: The origin with its port, such as `https://example.com:443`.
    ///   - routes: The numbers of the routes.
    @_spi(Transport) func retireConnections(to origin: String, by routes: Set<Int>)
    /// Sets the closure that the transport calls on the engine thread when the numbers of its connections have changed. It gets the new
    /// numbers by origin, as ``closeIdleConnections(to:)`` names it; connections that are being made count. It gets `nil` when the
    /// transport has closed all connections after their idle lifetime. The default never calls it.
    ///
    /// - Parameter mayAdd: Returns whether the transport may use a number of connections to an origin, one more than now, if several
    ///   requests share each of them and all are full.
    @_spi(Transport) func onCount(
        _ body: @escaping @Sendable (_ counts: [String: TransportCount]?) -> Void,
        mayAdd: @escaping @Sendable (_ origin: String, _ count: Int) -> Bool)
}

extension Transport {
    /// The default, `true`.
    @_spi(Transport) public var makesConnections: Bool { true }
    /// Does nothing: the transport keeps no connections.
    @_spi(Transport) public func closeIdleConnections(to origin: String?) {}
    /// Does nothing: the transport keeps no connections.
    @_spi(Transport) public func retireConnections(to origin: String, by routes: Set<Int>) {}
    /// Does nothing: the transport keeps no connections.
    @_spi(Transport) public func onCount(
        _ body: @escaping @Sendable (_ counts: [String: TransportCount]?) -> Void,
        mayAdd: @escaping @Sendable (_ origin: String, _ count: Int) -> Bool
    ) {}
}

/// The connections of a transport to one origin.
@_spi(Transport) public struct TransportCount: Hashable, Sendable {
    /// The number of connections that are open, or being made.
    public var connections: Int
    /// The number of requests that the server allows on a connection at a time, if several share one and it has told the number.
    public var streams: Int?
    /// The number of connections, each shared by several requests, that are in use or being made; zero if there are not several.
    public var shared: Int

    /// Creates a count.
    public init(_ connections: Int, streams: Int? = nil, shared: Int = 0) {
        self.connections = connections
        self.streams = streams
        self.shared = shared
    }
}

/// The request of one attempt, for a transport.
public class TransportRequest: @unchecked Sendable {
    // Unchecked because the compiler does not check a class with a subclass. This class and its only subclass, `PreparedRequest`, have
    // nothing but constants of types that are `Sendable`.

    /// The request, with the session's default fields.
    public var request: Request { Self.joined(source, with: defaultFields) }
    /// The normalised absolute URL.
    public var url: String { wire.url.text }
    /// The URL without user information, and with `REDACTED` for query values whose names indicate a secret.
    package var redactedURL: String { URLRedaction.redact(url) }
    /// The number of the call that the request belongs to; 0 if there is none.
    package let callNumber: UInt64
    /// The path of the URL, percent-encoded.
    public var path: String { RequestTarget(wire.url, of: method).path }
    /// The query of the URL without its question mark, percent-encoded, if any.
    public var query: String? { RequestTarget(wire.url, of: method).query }
    /// The method of the request.
    public var method: HTTPRequest.Method { source.method }
    /// The fields of the request, with the session's default fields.
    public var headers: HTTPFields { Self.joinedFields(of: source, with: defaultFields) }
    /// The body, if any: ``RequestBody/data`` has its bytes if they are in memory.
    public var body: RequestBody? { source.body }
    /// The request as the engine needs it.
    package let wire: TransferOptions
    /// The request without the ``defaultFields``. Everything except its fields is as in ``request``.
    package let source: Request
    /// The fields that follow the fields of ``source``; `nil` if those are complete. The two are joined only when ``request`` or
    /// ``headers`` is read, because a change copies all parts of a request.
    let defaultFields: HTTPFields?

    /// Creates the request of an attempt from its parts.
    init(source: Request, defaultFields: HTTPFields?, wire: TransferOptions, callNumber: UInt64 = 0) {
        self.source = source
        self.defaultFields = defaultFields
        self.wire = wire
        self.callNumber = callNumber
    }

    /// Returns a request with fields after its own.
    static func joined(_ source: Request, with defaultFields: HTTPFields?) -> Request {
        guard defaultFields != nil else { return source }
        var request = source
        request.headers = joinedFields(of: source, with: defaultFields)
        return request
    }

    private static func joinedFields(of source: Request, with defaultFields: HTTPFields?) -> HTTPFields {
        guard let defaultFields else { return source.headers }
        var fields = source.headers
        if fields.isEmpty { return defaultFields }
        for field in defaultFields { fields.append(field) }
        return fields
    }

    /// Returns the request without the call that it belongs to, its steps and its monitors, for a record that outlives the call.
    package var withoutCall: TransportRequest {
        var source = source
        if source.attachment != nil { source.attachment = nil }
        return TransportRequest(source: source, defaultFields: defaultFields, wire: wire)
    }

    /// Creates the request of an attempt, with complete fields.
    package convenience init(request: Request, wire: TransferOptions, callNumber: UInt64 = 0) {
        self.init(source: request, defaultFields: nil, wire: wire, callNumber: callNumber)
    }
}

/// An attempt in progress, as its exchange controls it. Called on the session's engine thread.
@_spi(Transport) public protocol TransportTask: AnyObject, Sendable {
    /// Ends the attempt and closes its resources.
    func cancel()
    /// Pauses or resumes receiving. A few bytes may still arrive after a pause.
    func pauseReceiving(_ isPaused: Bool)
    /// Pauses or resumes the attempt in both directions.
    func suspend(_ isSuspended: Bool)
    /// Sends the next chunk of the request's body.
    func send(_ chunk: Data)
    /// Pauses or resumes sending the request's body, to limit the bandwidth of this attempt. Not called for an attempt that does not count
    /// the bytes that it sends (``countsSentBody``): its chunks are delayed instead.
    func pauseSending(_ isPaused: Bool)
    /// Marks the end of the request's body, which is complete.
    func finishSending()
    /// Marks the end of the request's body, and sends fields after it (RFC 9110, section 6.5). The default drops the fields, for
    /// transports that cannot send them.
    func finishSending(trailers: HTTPFields)
    /// Drops the rest of the request's body, because the response was received. The response continues; the connection is not reused (over
    /// HTTP/2 and HTTP/3, the stream is reset at the end of the response).
    func stopSending()
    /// The measurements so far.
    var report: TransportReport { get }
    /// The instants at which bytes last moved, in either direction and for the request alone; `nil` if not known.
    var activity: TransportActivity? { get }
    /// Whether the attempt could send more of the request's body at once, but has no bytes of it. The attempt then waits for the
    /// source of the body, not for the peer, and the limit on idle time does not apply.
    var awaitsBody: Bool { get }
    /// Whether the attempt reports the bytes of the request's body that it sends (``TransportEvents/transportDidSendBody(_:)``).
    /// Otherwise, a chunk counts as sent when it is passed to ``send(_:)``.
    var countsSentBody: Bool { get }
    /// The number of bytes of the response's body that were received so far, before decoding; `nil` if not known.
    var receivedBodyBytes: Int64? { get }
    /// Whether several requests can share the connection, as over HTTP/2 and HTTP/3. Read when the attempt is connected.
    var sharesConnection: Bool { get }
    /// The connection of the attempt, as far as the transport knows it. Read when the attempt is connected.
    var connectionDetails: TransportConnection { get }
    /// Whether the attempt reports when it has sent the request (``reportSending()``). Otherwise the request counts as sent when its body
    /// was passed to the attempt.
    var reportsSending: Bool { get }
    /// Whether the complete request was sent. Counts only if the attempt ``reportsSending``.
    var hasSentRequest: Bool { get }
    /// Makes the attempt report when the head, and the complete request, was sent on the connection that is ready.
    func reportSending()
    /// The reason why the attempt is not connected yet, for errors, if it is known.
    var reasonForWaiting: String? { get }
    /// Tells the attempt that a limit of its time is reached, before the attempt is cancelled.
    ///
    /// - Parameter isIdle: Whether the limit counts from the last bytes of the attempt, and not from its request.
    func didTimeOut(isIdle: Bool)
    /// Closes the connection on which the server has switched protocols. Its reader and its writers get the error.
    func endConnection(with error: any Error)
}

/// The connection of an attempt, as far as its transport knows it.
@_spi(Transport) public struct TransportConnection: Sendable {
    /// The version of HTTP for which the connection was made, if known.
    public var version: HTTPVersion?
    /// The local port of the connection, if it has one.
    public var port: Int?
    /// The number of the attempt's stream on the connection, if it has one.
    public var stream: Int?
    /// The facts about a connection that was opened for the attempt beside others to the same origin.
    package var added: AddedConnection?

    /// Creates the description of an unknown connection.
    public init() {}
}

/// The instants at which bytes of an attempt last moved.
@_spi(Transport) public struct TransportActivity: Sendable {
    /// The instant of the last move in either direction.
    package let last: EngineInstant
    /// The instant of the last move of the request's bytes.
    package let lastSend: EngineInstant
    /// The instant from which the connecting counts, which is now while the attempt waits for a stream on a connection of others; `nil` if
    /// the attempt has not waited.
    package var connectStart: EngineInstant?

    /// Creates the instants.
    package init(last: EngineInstant, lastSend: EngineInstant) {
        self.last = last
        self.lastSend = lastSend
    }
}

@_spi(Transport) extension TransportTask {
    /// Does nothing.
    public func pauseSending(_ isPaused: Bool) {}
    /// The default, `false`: the attempt is considered to wait for the peer.
    public var awaitsBody: Bool { false }
    /// The default, `false`: the attempt does not report the bytes that it sends.
    public var countsSentBody: Bool { false }
    /// The default, `nil`, means that the number is not known.
    public var receivedBodyBytes: Int64? { nil }
    /// Does nothing: the exchange passes no more chunks, which may be enough.
    public func stopSending() {}
    /// The default, an empty report.
    public var report: TransportReport { TransportReport() }
    /// The default, `nil`, means that the instants are not known.
    public var activity: TransportActivity? { nil }
    /// The default, `false`: other requests cannot share the connection.
    public var sharesConnection: Bool { false }
    /// The default: nothing is known of the connection.
    public var connectionDetails: TransportConnection { TransportConnection() }
    /// The default, `false`: the attempt does not report when it has sent the request.
    public var reportsSending: Bool { false }
    /// The default, `false`, which does not count.
    public var hasSentRequest: Bool { false }
    /// Does nothing.
    public func reportSending() {}
    /// The default, `nil`: no reason is known.
    public var reasonForWaiting: String? { nil }
    /// Does nothing.
    public func didTimeOut(isIdle: Bool) {}
    /// Does nothing: the transport switches no protocols.
    public func endConnection(with error: any Error) {}
}

/// The end of an attempt.
@_spi(Transport) public struct TransportEnd: Sendable {
    /// The reason why the attempt failed; `nil` if the response is complete.
    public var failure: TransportFailure?
    /// The trailer fields, which follow the body.
    public var trailers: HTTPFields
    /// The measurements of the attempt.
    public var report: TransportReport {
        get { measured?.value ?? TransportReport() }
        set { measured = Boxed(newValue) }
    }
    /// The measurements behind one reference, if there are any, because an end is passed on often.
    private(set) var measured: Boxed<TransportReport>?

    /// Creates the end of an attempt that has measured nothing.
    public init(failure: TransportFailure? = nil, trailers: HTTPFields = HTTPFields()) {
        self.failure = failure
        self.trailers = trailers
    }

    /// Creates the end of an attempt.
    public init(
        failure: TransportFailure? = nil, trailers: HTTPFields = HTTPFields(), report: consuming TransportReport
    ) {
        self.init(failure: failure, trailers: trailers)
        measured = Boxed(report)
    }
}

/// The reason why an attempt failed.
public struct TransportFailure: Error, Sendable {
    /// The reason for the error that the caller gets.
    public var reason: TrellisError.Reason {
        get { parts.reason }
        set { parts.reason = newValue }
    }
    /// Whether the connection failed, and not this request: if the connection was reused, another connection may work.
    public var isConnectionFailure: Bool {
        get { parts.isConnectionFailure }
        set { parts.isConnectionFailure = newValue }
    }
    /// Whether the server reported that it did not process the request (RFC 9113, sections 6.8 and 8.7), so that any request may
    /// be sent again.
    public var isUnprocessed: Bool {
        get { parts.isUnprocessed }
        set { parts.isUnprocessed = newValue }
    }
    /// Whether the transport itself has sent the request as often as it may be sent after such a failure.
    var isFinal: Bool {
        get { parts.isFinal }
        set { parts.isFinal = newValue }
    }
    /// The certificates that a server which is not trusted has sent, encoded as DER; empty if not known.
    var sentCertificates: [[UInt8]] {
        get { parts.sentCertificates }
        set { parts.sentCertificates = newValue }
    }

    /// The reason why the body would have to be sent again, if ``reason`` is that it cannot be; `nil` if not known.
    var loss: TrellisError.Reason? {
        get { parts.loss }
        set { parts.loss = newValue }
    }

    private struct Parts: Sendable {
        var reason: TrellisError.Reason
        var loss: TrellisError.Reason?
        var isConnectionFailure = false
        var isUnprocessed = false
        var isFinal = false
        var sentCertificates: [[UInt8]] = []
    }

    private var parts: Parts {
        get { storage.value }
        set { storage = Boxed(newValue) }
    }

    // A single reference, because every end of an attempt carries an optional failure, and almost all of them succeed.
    private var storage: Boxed<Parts>

    /// Creates a failure.
    public init(_ reason: TrellisError.Reason) { storage = Boxed(Parts(reason: reason)) }
}

/// An attempt that reads files itself. Other attempts get the bytes of a file as chunks.
package protocol FileTransportTask: TransportTask {
    /// Sends a file as the next bytes of the request's body. More room is reported only after the complete file was read.
    func send(_ file: FileReader)
}

@_spi(Transport) extension TransportTask {
    /// Marks the end of the request's body, and drops the fields after it.
    public func finishSending(trailers: HTTPFields) { finishSending() }
}
