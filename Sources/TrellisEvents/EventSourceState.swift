import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The state of an event source between two connections, and its decisions. A pure state machine.
struct EventSourceState {
    /// The consequence of a response's head.
    enum Decision: Equatable {
        /// A response that is a stream of events.
        case read
        /// A 204: the server wants no more connections.
        case stop
        /// A response that ends the sequence with an error.
        case fail(TrellisError.ValidationFailure)
    }

    let reconnection: ReconnectionPolicy
    /// The `Last-Event-ID` to send, unless it is empty; `nil` until the first connection.
    var lastEventID: String?
    /// The time of the server's last `retry` field.
    var reconnectionTime: Duration?
    private var failures = 0
    /// The method of the last request.
    private var method = HTTPRequest.Method.get
    /// Whether the request of the last stream that has begun may be repeated.
    private var isIdempotent = true

    init(_ reconnection: ReconnectionPolicy) { self.reconnection = reconnection }

    /// Returns the decision about the head of a response: only 200 with `text/event-stream` is a stream of events, and 204 ends
    /// the sequence (WHATWG HTML, section 9.2.3).
    mutating func judge(status: Int, contentType: String?) -> Decision {
        if status == 204 { return .stop }
        guard status == 200 else { return .fail(.status(status)) }
        let type = contentType?.prefix(beforeBytes: ";").withoutBlanks.lowercasedASCII()
        guard type == "text/event-stream" else {
            return .fail(.contentType(contentType, acceptable: ["text/event-stream"]))
        }
        failures = 0
        return .read
    }

    /// Records that a stream has begun.
    ///
    /// - Parameter sent: The request as it was sent, perhaps after a redirect: both would be sent again.
    mutating func begin(sent: Request) {
        isIdempotent = method.isIdempotent && sent.method.isIdempotent
    }

    /// Returns the time to wait after a stream that ended properly; `nil` if its request must not be repeated.
    func delayAfterEnd() -> Duration? {
        guard isIdempotent || reconnection.repeatsAnyMethod else { return nil }
        return reconnection.delay(failures: 0, reconnectionTime: reconnectionTime, random: 0)
    }

    /// Returns the time to wait after a failure; `nil` if another attempt is useless or not allowed, or the request must not be repeated.
    mutating func delay(after error: any Error, random: Double) -> Duration? {
        guard let error = error as? TrellisError, error.allowsReconnection,
            isIdempotent && error.mayBeMadeAgain(method) || reconnection.repeatsAnyMethod
        else { return nil }
        failures += 1
        if let limit = reconnection.maximumFailures, failures >= limit { return nil }
        return reconnection.delay(failures: failures, reconnectionTime: reconnectionTime, random: random)
    }

    /// Completes a request for its next attempt. The first stream begins at the request's own `Last-Event-ID`.
    mutating func prepare(_ request: Request) -> Request {
        var request = request
        if request.headers[.accept] == nil { request.headers[.accept] = "text/event-stream" }
        if request.headers[.cacheControl] == nil { request.headers[.cacheControl] = "no-cache" }
        if let name = HTTPField.Name.lastEventID {
            let id = lastEventID ?? request.headers[name] ?? ""
            lastEventID = id
            request.headers[name] = id.isEmpty ? nil : id
        }
        request.timeouts = (request.timeouts ?? Timeouts()).withoutInheritedTotal
        method = request.method
        // Events are not responses to be used again.
        request.cacheMode = .noStore
        return request
    }
}

extension HTTPField.Name {
    /// The name of `Last-Event-ID` (WHATWG HTML, section 9.2.4).
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")
}

extension TrellisError {
    /// Whether another connection may succeed. Any status other than 200 is the server's refusal of the stream (WHATWG HTML,
    /// section 9.2.3).
    fileprivate var allowsReconnection: Bool {
        if case .validationFailed = reason { false } else { mayPassWithAnotherConnection }
    }
}
