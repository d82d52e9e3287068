package import CurlEngine
public import FoundationEssentials
public import HTTPTypes

/// What carries requests: libcurl, or in tests something that answers without a network.
///
/// A transport gets one absolute URL and one hop. Redirects, retries, queues and time limits are the framework's and the
/// same on every transport.
///
/// ```swift
/// struct Teapot: Transport {
///     func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
///         events.transportIsConnected()
///         events.transportDidReceiveHead(ResponseHead(status: .init(code: 418)))
///         events.transportDidEnd(TransportEnd())
///         return Brewed()  // a ``TransportTask`` that has nothing to do any more
///     }
/// }
/// ```
public protocol Transport: Sendable {
    /// Starts one attempt. Called on the session's engine thread: return at once.
    ///
    /// The events come in order, from any thread, one after the other; the last is
    /// ``TransportEvents/transportDidEnd(_:)``. None need come after ``TransportTask/cancel()``.
    func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask
}

/// One attempt, as a transport gets it.
public final class TransportRequest: Sendable {
    /// The request, with the session's default fields.
    public let request: Request
    /// The absolute URL, normalised.
    public var url: String { wire.url.text }
    package let wire: TransferOptions

    package init(request: Request, wire: TransferOptions) {
        self.request = request
        self.wire = wire
    }
}

/// What an exchange asks of its attempt. Called on the session's engine thread.
public protocol TransportTask: AnyObject, Sendable {
    /// Ends the attempt and closes what it holds.
    func cancel()
    /// Stops or goes on receiving; a little may still come after it was stopped.
    func pauseReceiving(_ isPaused: Bool)
    /// Stops or goes on in both directions.
    func suspend(_ isSuspended: Bool)
    /// The next chunk of the request's body.
    func send(_ chunk: Data)
    /// Stops or goes on sending the request's body, which is a matter of this attempt's bandwidth. An attempt that does not
    /// count what it sends (``countsSentBody``) is not asked: its chunks come later.
    func pauseSending(_ isPaused: Bool)
    /// The request's body is complete.
    func finishSending()
    /// The rest of the request's body is not to be sent, because its answer has come. The answer goes on; the connection is
    /// not used again (HTTP/2 and 3: the stream is reset with the end of the answer).
    func stopSending()
    /// What was measured so far.
    var report: TransportReport { get }
    /// When bytes last moved, in either direction and in that of the request; `nil`: not known.
    var activity: TransportActivity? { get }
    /// Whether the attempt could send more of the request's body at once, and has none of it: the body's source is what is waited
    /// for then, and not the peer. No limit on idle time is held against that.
    var awaitsBody: Bool { get }
    /// Whether the attempt tells of the bytes of the request's body that it takes
    /// (``TransportEvents/transportDidSendBody(_:)``); otherwise a chunk counts as sent when it is handed over.
    var countsSentBody: Bool { get }
    /// Bytes of the answer's body that have come so far, before decoding; `nil`: not known.
    var receivedBodyBytes: Int64? { get }
    /// Whether other requests can share the connection, as over HTTP/2 and HTTP/3. Asked when it is connected.
    var sharesConnection: Bool { get }
}

/// When bytes last moved.
public struct TransportActivity: Sendable {
    package let last: EngineInstant
    package let lastSend: EngineInstant

    package init(last: EngineInstant, lastSend: EngineInstant) {
        self.last = last
        self.lastSend = lastSend
    }
}

extension TransportTask {
    /// Nothing.
    public func pauseSending(_ isPaused: Bool) {}
    /// Not known: the peer is waited for.
    public var awaitsBody: Bool { false }
    /// It does not.
    public var countsSentBody: Bool { false }
    /// Not known.
    public var receivedBodyBytes: Int64? { nil }
    /// Nothing: no more chunks come, which may do.
    public func stopSending() {}
    /// Nothing was measured.
    public var report: TransportReport { TransportReport() }
    /// Not known.
    public var activity: TransportActivity? { nil }
    /// They cannot.
    public var sharesConnection: Bool { false }
}

/// What an attempt tells its exchange. Call it from any thread, one call after the other.
public protocol TransportEvents: AnyObject, Sendable {
    /// The connection is ready and the request goes out now.
    func transportIsConnected()
    /// A head with a status of 1xx has come.
    func transportDidReceiveInformational(_ head: ResponseHead)
    /// The final head has come.
    func transportDidReceiveHead(_ head: ResponseHead)
    /// Bytes of the decoded body have come.
    func transportDidReceiveBody(_ bytes: RawSpan)
    /// There is room for more of the request's body.
    func transportNeedsBody()
    /// So many bytes more of the request's body are on their way. Only from attempts that count them
    /// (``TransportTask/countsSentBody``).
    func transportDidSendBody(_ count: Int)
    /// The attempt is over.
    func transportDidEnd(_ end: TransportEnd)
}

extension TransportEvents {
    /// Nobody wants to know.
    public func transportDidSendBody(_ count: Int) {}
}

/// How an attempt ended.
public struct TransportEnd: Sendable {
    /// Why it failed, `nil` if the response is whole.
    public var failure: TransportFailure?
    /// The fields after the body.
    public var trailers: HTTPFields
    /// What was measured.
    public var report: TransportReport

    /// An end.
    public init(
        failure: TransportFailure? = nil, trailers: HTTPFields = [:], report: TransportReport = TransportReport()
    ) {
        self.failure = failure
        self.trailers = trailers
        self.report = report
    }
}

/// Why an attempt failed.
public struct TransportFailure: Error, Sendable {
    /// What goes into the error that the caller gets.
    public var reason: TrellisError.Reason
    /// It was the connection that failed, not this request on it: if it was a kept one, another may do.
    public var isOfConnection = false
    /// The server has said that it did not process the request (RFC 9113, sections 6.8 and 8.7), so that any may be sent again.
    public var isUnprocessed = false

    /// A failure.
    public init(_ reason: TrellisError.Reason) { self.reason = reason }
}
