import CurlEngine
public import HTTPTypes

/// A request of a session that has not ended; see ``Session/liveRequests``.
public struct LiveRequest: Sendable, Hashable, CustomStringConvertible {
    /// The number of the call in its process, which equals ``RequestEvent/callID`` of its events.
    public let callID: UInt64
    /// The HTTP method.
    public let method: HTTPRequest.Method
    /// The URL without its secrets.
    public let url: String
    /// The time since the call was made.
    public let elapsed: Duration

    /// The method, the URL, the time in milliseconds and the number of the call: `GET https://example.com/ 12 ms (call 7)`.
    public var description: String {
        "\(method.rawValue) \(url) \(Int64(elapsed / .milliseconds(1))) ms (call \(callID))"
    }

    init(_ call: Call, now: EngineInstant) {
        callID = call.id
        method = call.request.method
        url = URLRedaction.redact(call.completeURL)
        elapsed = .nanoseconds(now.nanoseconds(since: call.beginning))
    }

    init(_ prepared: PreparedRequest, now: EngineInstant) {
        callID = prepared.callID
        method = prepared.method
        url = URLRedaction.redact(prepared.url)
        elapsed = .nanoseconds(now.nanoseconds(since: prepared.start))
    }
}
