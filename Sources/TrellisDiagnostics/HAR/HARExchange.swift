import FoundationEssentials
import HTTPTypes
import TrellisCore

/// An exchange of a call that a recorder observes.
struct HARExchange: Sendable {
    /// The end of an exchange.
    struct End: Sendable {
        let metrics: Metrics
        /// The failure; `nil` if the response is complete.
        let failure: (any Error)?
        /// The time since the call was made, in nanoseconds.
        let instant: Int64
    }

    /// The number of the call in its process.
    let callID: UInt64
    /// The instant at which the call was made.
    let callStart: Date
    /// The number of the attempt, from 1 on.
    let attempt: Int
    /// The request as it is sent.
    let request: Request
    var timeline: HARTimeline
    var head: ResponseHead?
    /// The port of the connection at this machine; `nil` if not known.
    var localPort: Int?
    /// The number of the stream on the connection, over HTTP/2.
    var streamNumber: Int?
    var end: End?
    /// Whether a further event of the call has followed the end: the use of the cache would have been told.
    var isSettled = false
    /// Whether the end of the exchange was never told.
    var hasLostEnd = false
    var cacheStatus: CacheStatus?
    var body: CapturedBody?

    init(callID: UInt64, callStart: Date, attempt: Int, request: Request, queued: Int64) {
        self.callID = callID
        self.callStart = callStart
        self.attempt = attempt
        self.request = request
        timeline = HARTimeline(queued: queued)
    }

    /// Returns the exchange as an entry of a document.
    ///
    /// - Parameters:
    ///   - bodyLimit: The number of bytes of each body that are kept.
    ///   - revealsSecrets: Whether secrets are kept.
    func entry(bodyLimit: Int, revealsSecrets: Bool) -> HARDocument.Entry {
        let metrics = end?.metrics ?? Metrics()
        let instant = end?.instant ?? timeline.latest
        let (timings, sum) = timeline.timings(metrics, end: instant, failsAtName: failsAtName)
        let start = callStart.addingTimeInterval(Double(timeline.start(metrics, end: instant)) / 1e6)
        var entry = HARDocument.Entry(
            startedDateTime: Self.text(of: start),
            request: HARMessages.request(request, bodyLimit: bodyLimit, revealsSecrets: revealsSecrets),
            response: response(metrics, bodyLimit: bodyLimit))
        entry.request.httpVersion = head.map { "HTTP/\($0.version)" } ?? ""
        if !revealsSecrets {
            HARRedaction.redact(&entry.request)
            HARRedaction.redact(&entry.response)
        }
        (entry.timings, entry.time) = (timings, sum)
        if !metrics.peerHost.isEmpty, metrics.peerHost.utf8.first != UInt8(ascii: "/") {
            entry.serverIPAddress = metrics.peerHost
            entry.connection = "\(localPort ?? metrics.peerPort)"
        }
        (entry.callID, entry.attempt) = (callID, attempt)
        entry.cacheStatus = cacheStatus.map { "\($0)" }
        entry.proxy = metrics.proxyURL
        entry.streamNumber = streamNumber
        entry.tls = metrics.negotiatedTLS.map { "\($0)" }
        return entry
    }

    private func response(_ metrics: Metrics, bodyLimit: Int) -> HARDocument.Response {
        var response = head.map(HARMessages.response) ?? HARDocument.Response()
        if let body {
            HARMessages.setBody(body, of: &response, head?.headers ?? HTTPFields(), limit: bodyLimit)
        }
        if head == nil || request.method == .head { response.content.size = 0 }
        let isCoded = head?.headers.contains(.contentEncoding) ?? true
        if let end, end.failure == nil, !isCoded { response.bodySize = response.content.size }
        response.transferSize = metrics.bytesReceived
        let unknown = hasLostEnd ? "the end of the exchange was lost" : "the exchange had not ended"
        response.error = end.map { $0.failure.map { Self.text(of: $0) } } ?? unknown
        return response
    }

    private var failsAtName: Bool { (end?.failure as? TrellisError)?.kind == .dns }

    /// Returns a failure in words, without the request that the entry names already.
    private static func text(of failure: any Error) -> String {
        if failure is CancellationError { return "cancelled" }
        guard var failure = failure as? TrellisError else { return "\(failure)" }
        (failure.method, failure.url, failure.bodyExcerpt) = (nil, nil, nil)
        return "\(failure)"
    }

    /// Returns an instant, rounded to a millisecond.
    private static func text(of date: Date) -> String {
        (try? Timestamp.text(date.addingTimeInterval(0.0005), withMilliseconds: true)) ?? "1970-01-01T00:00:00.000Z"
    }
}
