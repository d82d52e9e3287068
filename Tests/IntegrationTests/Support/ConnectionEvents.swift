import CurlEngine
import Testing
import Trellis

/// A monitor that keeps the events of exchanges and their connections, and their words.
final class ConnectionEvents: EventMonitor {
    private let events = Locked<[RequestEvent]>([])

    var all: [RequestEvent] { events.withLock { $0 } }

    /// The words of all events so far, without the events that concern neither exchanges nor connections.
    var words: [String] { all.map(Self.word).filter { $0 != "other" } }

    /// The connections so far.
    var connections: [ConnectionInfo] {
        all.compactMap { if case .connected(let connection) = $0.kind { connection } else { nil } }
    }

    func handle(_ event: RequestEvent) async { events.withLock { $0.append(event) } }

    /// Waits until a number of events have a word.
    func wait(for word: String, count: Int = 1) async throws {
        while words.count(where: { $0 == word }) < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// The number of attempts that have found no way to their server.
    var failedConnectionCount: Int { words.count { $0.hasPrefix("ended connect") } }

    /// Waits until some attempts have found no way to their server.
    func waitForFailedConnections(_ count: Int) async throws {
        while failedConnectionCount < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Returns the word of an event.
    static func word(_ event: RequestEvent) -> String {
        switch event.kind {
        case .created: "created"
        case .proxySelected: "proxy"
        case .queued: "queued"
        case .admitted: "admitted"
        case .lookingUp(let host): "looking up \(host)"
        case .lookedUp(let host): "looked up \(host)"
        case .connecting(let address): "connecting \(address)"
        case .handshaking(let host): "handshaking \(host)"
        case .evaluatingServerTrust: "evaluating"
        case .serverTrustReported: "reported"
        case .serverTrustEvaluated(_, let error): error == nil ? "trusts" : "refuses"
        case .connectionAdded: "added"
        case .connected(let connection):
            connection.isReused ? (connection.isShared ? "shared" : "kept") : "connected"
        case .requestSent(let size): size == 0 ? "sent" : "sent \(size)"
        case .informational(let head): "head \(head.status.code)"
        case .head(let head): "head \(head.status.code)"
        case .exchangeEnded(let metrics, let error):
            (["ended"] + [kind(error), metrics.isConnectionKept.map { $0 ? "kept" : "closed" }].compactMap { $0 })
                .joined(separator: " ")
        case .retrying: "retrying"
        case .finished(let response): "finished \(response.status.code)"
        case .downloadContinued(let offset): "continued \(offset)"
        case .fileMoved(let partial, let destination): "moved \(partial) \(destination)"
        case .failed(let error): "failed \(kind(error) ?? "")"
        default: "other"
        }
    }

    private static func kind(_ error: (any Error)?) -> String? {
        error.map { ($0 as? TrellisError)?.kind.rawValue ?? "\(type(of: $0))" }
    }
}
