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

    init(_ request: RequestActor, now: EngineInstant) {
        let call = request.call
        callID = call.id
        method = call.request.method
        url = URLRedaction.redact(request.completeURL)
        elapsed = .nanoseconds(now.nanoseconds(since: call.deadline.start))
    }

    init(_ prepared: PreparedRequest, now: EngineInstant) {
        callID = prepared.callID
        method = prepared.method
        url = URLRedaction.redact(prepared.url)
        elapsed = .nanoseconds(now.nanoseconds(since: prepared.start))
    }
}

extension Session {
    /// The requests of the session that have not ended, in the order of their creation. The list includes requests that wait for a
    /// connection, a limit or a step, but not handles that were not started.
    public var liveRequests: [LiveRequest] {
        get async {
            var requests: [LiveRequest] = []
            for engine in engines.started { requests += await engine.actor.liveRequests }
            return requests.sorted { $0.callID < $1.callID }
        }
    }

    /// Cancels all requests of the session that have not ended, including downloads. The session stays open for new requests.
    ///
    /// The readers of a cancelled request get an error of kind ``TrellisError/Kind/cancelled``.
    public func cancelAllRequests() async { await engines.cancelAll(TrellisError(.cancelled(.explicitly))) }
}
