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
        elapsed = .nanoseconds(now.nanoseconds(since: call.deadline.start))
    }

    init(_ prepared: PreparedRequest, now: EngineInstant) {
        callID = prepared.callID
        method = prepared.method
        url = URLRedaction.redact(prepared.url)
        elapsed = .nanoseconds(now.nanoseconds(since: prepared.start))
    }
}

extension Call: ListedCall {
    var completeURL: String { (sender as? Session)?.completeURL(of: request) ?? request.url }
}

extension Session {
    /// The requests of the session that have not ended, in the order of their creation. The list includes requests that wait for a
    /// connection, a limit or a step, but not handles that were not started. No engine is asked, so that an engine that is stuck does not
    /// delay the list.
    public var liveRequests: [LiveRequest] {
        get async {
            let (now, engines) = (clock.now(), engines.all)
            var live: [UInt64: LiveRequest] = [:]
            for engine in engines {
                for call in engine.actor.calls.live { live[call.id] = LiveRequest(call, now: now) }
                for call in engine.actor.calls.all { live[call.call.id] = LiveRequest(call.call, now: now) }
            }
            for exchange in engines.flatMap(\.site.list.all) where live[exchange.prepared.callID] == nil {
                live[exchange.prepared.callID] = LiveRequest(exchange.prepared, now: now)
            }
            return live.values.sorted { $0.callID < $1.callID }
        }
    }

    /// The numbers of the calls of ``liveRequests``.
    var liveCallIDs: Set<UInt64> {
        var ids: Set<UInt64> = []
        for engine in engines.all {
            for call in engine.actor.calls.live { ids.insert(call.id) }
            for call in engine.actor.calls.all { ids.insert(call.call.id) }
            for exchange in engine.site.list.all { ids.insert(exchange.prepared.callID) }
        }
        return ids
    }

    /// Cancels all requests of the session that have not ended, including downloads. The session stays open for new requests.
    ///
    /// The readers of a cancelled request get an error of kind ``TrellisError/Kind/cancelled``. No request that waits for a connection is
    /// sent any more. Returns when the requests have ended, however many there are. An engine is an exception if its thread is blocked for
    /// more than 100 ms, for example by a task on ``executor`` that waits: its requests end when the thread is free again.
    public func cancelAllRequests() async { await engines.cancelAll(TrellisError(.cancelled(.explicitly))) }
}
