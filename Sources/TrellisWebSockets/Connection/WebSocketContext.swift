import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The surroundings of a connection: its session's clock, and its place in errors. It keeps the session alive.
struct WebSocketContext: Sendable {
    let clock: any EngineClock
    /// Returns the executor whose timers the connection uses, at the beginning of each wait.
    let timekeeper: @Sendable () -> EngineExecutor
    /// The life of the session; `nil` if there is no session.
    var life: SessionLife?
    /// The URL of the handshake, without its secrets; `nil` if there is none.
    var url: String?
    /// The response to the handshake; `nil` if there is none. Its metrics are not copied, because many thousands of connections may be
    /// open.
    var response: Response?
    /// The instant of the call that has opened the connection; `nil` if there is no such call.
    var start: EngineInstant?

    /// The metrics of the handshake.
    var metrics: Metrics { response?.metrics ?? Metrics() }

    /// Returns the current instant.
    func now() -> EngineInstant { clock.now() }

    /// Waits until an instant of the session's clock.
    ///
    /// - Throws: `CancellationError` in a cancelled task; an error if the session's threads have ended.
    func wait(until instant: EngineInstant) async throws {
        guard try await timekeeper().delay(until: instant) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }

    /// Returns the instant when the time of the conversation is over; `nil` without a limit.
    func deadline(_ limit: Duration?) -> EngineInstant? { limit.map { (start ?? now()).advanced(by: $0) } }

    /// Returns the error of a conversation whose time is over.
    func timeoutError() -> TrellisError {
        var metrics = metrics
        if let start { metrics.total = .nanoseconds(now().nanoseconds(since: start)) }
        var error = TrellisError(.timedOut(.total), method: .get, url: url, phase: .receiving, metrics: metrics)
        error.detail = "the time of the WebSocket is over"
        return error.ofWebSocket(.conversation)
    }

    /// Returns an error of the connection.
    func error(_ failure: TrellisError.WebSocketFailure, underlying: (any Error)? = nil) -> TrellisError {
        TrellisError(
            .webSocketFailed(failure), method: .get, url: url, phase: .receiving, metrics: metrics,
            underlying: underlying
        ).ofWebSocket(.conversation)
    }

    /// Returns the error of a transport that has failed. The end of the session is not a failure of the connection.
    func error(of error: (any Error)?) -> TrellisError {
        guard let known = error as? TrellisError else {
            return self.error(.lost(error.map { "\($0)" } ?? "the connection failed"))
        }
        return known.isCancellation ? known : self.error(.lost(known.reason.description), underlying: known)
    }

    /// Returns the error of the calls on a connection that has ended.
    func error(of ending: WebSocketState.Ending, hasDropped: Bool, transportError: (any Error)?) -> TrellisError {
        switch ending {
        case .closedByPeer(let closing): error(.closed(code: closing.code, reason: closing.reason))
        case .closed, .closedWithoutReply: error(hasDropped ? .dropped : .notOpen)
        case .failed(let violation):
            error(violation.limit.map { .tooLarge(limit: $0) } ?? .protocolViolation(violation.message))
        case .noPong(let limit): error(.noPong(after: limit))
        case .timedOut: timeoutError()
        case .lost: error(.lost("the server ended the connection"))
        case .transportFailed: error(of: transportError)
        }
    }
}

/// The facts about a connection that can be read at any time.
struct WebSocketFacts: Sendable {
    /// The Close frame of the server, or the code for its absence; `nil` while the connection is open.
    var closing: WebSocketClosing?
    /// The latency of the last answered ping.
    var latency: Duration?
    /// Whether the server has sent a message.
    var hasMessages = false

    mutating func note(_ ending: WebSocketState.Ending) {
        switch ending {
        case .closedByPeer(let closing), .closed(let closing): self.closing = closing
        case .failed, .closedWithoutReply, .noPong, .timedOut, .lost, .transportFailed:
            closing = WebSocketClosing(code: .abnormalClosure)
        }
    }
}
