import CurlEngine
import FoundationEssentials
import HTTPTypes

/// What an event source knows between two connections, and what it decides. A pure machine.
struct EventSourceState {
    /// What to do with a response.
    enum Verdict: Equatable {
        /// It is a stream of events.
        case read
        /// The server wants no more connections.
        case stop
        case fail(TrellisError.ValidationFailure)
    }

    let reconnection: EventSourceReconnection
    /// What to send as `Last-Event-ID`, unless it is empty; `nil` before the first connection.
    var lastEventID: String?
    /// What the server last said.
    var reconnectionTime: Duration?
    private var failures = 0

    init(_ reconnection: EventSourceReconnection) { self.reconnection = reconnection }

    /// Judges the head of a response: only 200 with `text/event-stream` is a stream of events, and 204 ends everything
    /// (WHATWG HTML, section 9.2.3).
    mutating func judge(status: Int, contentType: String?) -> Verdict {
        if status == 204 { return .stop }
        guard status == 200 else { return .fail(.status(status)) }
        let type = contentType?.prefix(beforeBytes: ";").filter { $0 != " " && $0 != "\t" }.lowercased()
        guard type == "text/event-stream" else {
            return .fail(.contentType(contentType, acceptable: ["text/event-stream"]))
        }
        failures = 0
        return .read
    }

    /// How long to wait after a stream has ended as it should.
    func delayAfterEnd() -> Duration {
        reconnection.delay(failures: 0, reconnectionTime: reconnectionTime, random: 0)
    }

    /// How long to wait after a failure; `nil` where there is no point in another attempt.
    mutating func delay(after error: any Error, random: Double) -> Duration? {
        guard let error = error as? TrellisError, error.allowsReconnection else { return nil }
        failures += 1
        if let limit = reconnection.maximumFailures, failures >= limit { return nil }
        return reconnection.delay(failures: failures, reconnectionTime: reconnectionTime, random: random)
    }

    /// Completes a request for its next attempt. What it has as `Last-Event-ID` is where the first stream begins.
    mutating func prepare(_ request: Request) -> Request {
        var request = request
        if request.headerFields[.accept] == nil { request.headerFields[.accept] = "text/event-stream" }
        if request.headerFields[.cacheControl] == nil { request.headerFields[.cacheControl] = "no-cache" }
        if let name = HTTPField.Name.lastEventID {
            let id = lastEventID ?? request.headerFields[name] ?? ""
            lastEventID = id
            request.headerFields[name] = id.isEmpty ? nil : id
        }
        request.timeouts = (request.timeouts ?? Timeouts()).withoutInheritedTotal
        return request
    }
}

extension HTTPField.Name {
    /// `Last-Event-ID` (WHATWG HTML, section 9.2.4).
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")
}

extension TrellisError {
    /// Another connection may do: a stream that is to go on for ever is opened again for what is transient, and for two failures
    /// more. A total is the limit of one connection, and a handshake may fail while a server is replaced. Any status but 200 is
    /// the server's refusal of the stream (WHATWG HTML, section 9.2.3).
    fileprivate var allowsReconnection: Bool {
        switch reason {
        case .timedOut(.total), .securityFailed(.handshake): true
        case .validationFailed: false
        default: isTransient
        }
    }
}
