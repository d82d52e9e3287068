package import CurlEngine
public import FoundationEssentials
public import HTTPTypes

/// The layer that sends requests: libcurl, or in tests a stub that responds without a network.
///
/// A transport gets one absolute URL and one hop. Redirects, retries, queues and time limits are handled by the framework, in the
/// same way for every transport.
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
    /// The events must be sent in order, from any thread, one after the other; the last is
    /// ``TransportEvents/transportDidEnd(_:)``. No events are required after ``TransportTask/cancel()``.
    func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask
}

/// The request of one attempt, for a transport.
public final class TransportRequest: Sendable {
    /// The request, with the session's default fields.
    public let request: Request
    /// The normalised absolute URL.
    public var url: String { wire.url.text }
    /// The method of the request.
    public var method: HTTPRequest.Method { request.method }
    /// The fields of the request, with the session's default fields.
    public var headers: HTTPFields { request.headers }
    package let wire: TransferOptions

    package init(request: Request, wire: TransferOptions) {
        self.request = request
        self.wire = wire
    }
}

/// An attempt under way, as its exchange controls it. Called on the session's engine thread.
public protocol TransportTask: AnyObject, Sendable {
    /// Ends the attempt and closes its resources.
    func cancel()
    /// Pauses or resumes receiving; a little may still arrive after a pause.
    func pauseReceiving(_ isPaused: Bool)
    /// Pauses or resumes the attempt in both directions.
    func suspend(_ isSuspended: Bool)
    /// Sends the next chunk of the request's body.
    func send(_ chunk: Data)
    /// Pauses or resumes sending the request's body, to limit the bandwidth of this attempt. Not called for an attempt that does
    /// not count the bytes that it sends (``countsSentBody``): its chunks come later instead.
    func pauseSending(_ isPaused: Bool)
    /// Ends the request's body, which is complete.
    func finishSending()
    /// Drops the rest of the request's body, because its response has come. The response goes on; the connection is not used again
    /// (HTTP/2 and 3: the stream is reset with the end of the response).
    func stopSending()
    /// The measurements so far.
    var report: TransportReport { get }
    /// The instants at which bytes last moved, in either direction and in that of the request; `nil`: not known.
    var activity: TransportActivity? { get }
    /// Indicates whether the attempt could send more of the request's body at once, but has no bytes of it: it waits for the
    /// body's source then, and not for the peer. The limit on idle time does not apply to that wait.
    var awaitsBody: Bool { get }
    /// Indicates whether the attempt reports the bytes of the request's body that it takes
    /// (``TransportEvents/transportDidSendBody(_:)``); otherwise a chunk counts as sent when it is passed to ``send(_:)``.
    var countsSentBody: Bool { get }
    /// The number of bytes of the response's body that have come so far, before decoding; `nil`: not known.
    var receivedBodyBytes: Int64? { get }
    /// Indicates whether other requests can share the connection, as over HTTP/2 and HTTP/3. Read when the attempt is connected.
    var sharesConnection: Bool { get }
}

/// The instants at which bytes of an attempt last moved.
public struct TransportActivity: Sendable {
    /// The last move in either direction.
    package let last: EngineInstant
    /// The last move of the request's bytes.
    package let lastSend: EngineInstant

    package init(last: EngineInstant, lastSend: EngineInstant) {
        self.last = last
        self.lastSend = lastSend
    }
}

extension TransportTask {
    /// Does nothing.
    public func pauseSending(_ isPaused: Bool) {}
    /// `false`: not known, so that the attempt counts as waiting for the peer.
    public var awaitsBody: Bool { false }
    /// `false`: the attempt does not report the bytes that it takes.
    public var countsSentBody: Bool { false }
    /// `nil`: not known.
    public var receivedBodyBytes: Int64? { nil }
    /// Does nothing: no more chunks come, which may be enough.
    public func stopSending() {}
    /// An empty report.
    public var report: TransportReport { TransportReport() }
    /// `nil`: not known.
    public var activity: TransportActivity? { nil }
    /// `false`: other requests cannot share the connection.
    public var sharesConnection: Bool { false }
}

/// The receiver of an attempt's events: its exchange. Call its methods from any thread, one call after the other.
public protocol TransportEvents: AnyObject, Sendable {
    /// Tells the exchange that the connection is ready and the request goes out now.
    func transportIsConnected()
    /// Tells the exchange that a head with a status of 1xx has come.
    func transportDidReceiveInformational(_ head: ResponseHead)
    /// Tells the exchange that the final head has come.
    func transportDidReceiveHead(_ head: ResponseHead)
    /// Tells the exchange that bytes of the decoded body have come.
    func transportDidReceiveBody(_ bytes: RawSpan)
    /// Tells the exchange that there is room for more of the request's body.
    func transportNeedsBody()
    /// Tells the exchange that a further number of bytes of the request's body is on its way. Called only by attempts that count
    /// them (``TransportTask/countsSentBody``).
    func transportDidSendBody(_ count: Int)
    /// Tells the exchange that the attempt has ended.
    func transportDidEnd(_ end: TransportEnd)
}

extension TransportEvents {
    /// Does nothing.
    public func transportDidSendBody(_ count: Int) {}
}

/// The end of an attempt.
public struct TransportEnd: Sendable {
    /// The reason why the attempt failed; `nil`: the response is whole.
    public var failure: TransportFailure?
    /// The trailer fields, which follow the body.
    public var trailers: HTTPFields
    /// The measurements of the attempt.
    public var report: TransportReport

    /// Creates the end of an attempt.
    public init(
        failure: TransportFailure? = nil, trailers: HTTPFields = [:], report: TransportReport = TransportReport()
    ) {
        self.failure = failure
        self.trailers = trailers
        self.report = report
    }
}

/// The reason why an attempt failed.
public struct TransportFailure: Error, Sendable {
    /// The reason for the error that the caller gets.
    public var reason: TrellisError.Reason
    /// Indicates whether the connection failed, not this request on it: if the connection was reused, another one may work.
    public var isConnectionFailure = false
    /// Indicates whether the server reported that it did not process the request (RFC 9113, sections 6.8 and 8.7), so that any
    /// request may be sent again.
    public var isUnprocessed = false

    /// Creates a failure.
    public init(_ reason: TrellisError.Reason) { self.reason = reason }
}

/// An attempt that reads files itself. Other attempts get the bytes of a file as chunks.
package protocol FileTransportTask: TransportTask {
    /// Sends a file as the next bytes of the request's body. Room for more is only reported when the whole file is read.
    func send(_ file: FileReader)
}
