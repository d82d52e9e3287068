import CurlEngine
import HTTPTypes

/// The place of one request within the concurrency limit of its host. It is left once: when the response is complete, or with the slot.
final class ConcurrencySlot: Sendable {
    private struct State {
        /// The request as it was sent the first time; `nil` if it was not.
        var sent: ConcurrencyLimit.Sent?
        /// The instant at which it was sent the last time.
        var sentAt = EngineInstant(nanoseconds: 0)
        var hasEnded = false
        var hasLeft = false
    }

    private let limit: AdaptiveConcurrency
    private let host: String
    private let clock: any EngineClock
    private let state = Locked(State())

    init(_ limit: AdaptiveConcurrency, host: String, clock: any EngineClock) {
        self.limit = limit
        self.host = host
        self.clock = clock
    }

    deinit { leave() }

    /// Records that the request is sent, maybe again: on another connection, or through another proxy.
    func send(at now: EngineInstant) {
        state.withLock { state in
            state.sentAt = now
            if state.sent == nil { state.sent = limit.change(host, at: now) { $0.send() } }
        }
    }

    /// Learns the outcome of the request: its response's head, or its error. Returns the reduction of the limit, if there is one.
    func end(_ outcome: ConcurrencyLimit.Outcome) -> ConcurrencyLimit.Reduction? {
        let (sent, hasEnded) = state.withLock { state in
            defer { state.hasEnded = true }
            return (state.sent, state.hasEnded)
        }
        guard !hasEnded else { return nil }
        let now = clock.now()
        return limit.change(host, at: now) { $0.end(sent, outcome, at: now) }
    }

    /// Leaves the slot to the next request. The outcome of one that has none says nothing.
    func leave() {
        _ = end(.neutral)
        let (sent, hasLeft) = state.withLock { state in
            defer { state.hasLeft = true }
            return (state.sent, state.hasLeft)
        }
        guard !hasLeft else { return }
        limit.change(host, at: clock.now()) { $0.leave(wasSent: sent != nil) }
    }

    /// Returns the time in nanoseconds from the readiness of the connection to the head of a response; `nil` if it is not known.
    ///
    /// - Parameter start: The instant from which on the metrics count.
    func latency(of metrics: Metrics, since start: EngineInstant) -> Int64? {
        guard metrics.firstByteTime > 0 else { return nil }
        let head = start.advanced(byNanoseconds: UInt64(metrics.firstByteTime))
        let sentAt = state.withLock { $0.sentAt }
        let connecting =
            metrics.isReusedConnection ? 0 : metrics.nameLookupTime + metrics.connectTime + metrics.tlsTime
        return max(head.nanoseconds(since: sentAt) - connecting, 1)
    }
}

extension ConcurrencyLimit.Outcome {
    /// Creates the outcome of a response's head.
    ///
    /// - Parameter latency: The latency in nanoseconds; `nil` if it was not measured.
    init(_ head: ResponseHead, latency: Int64?) {
        switch head.status.code {
        case ..<400: self = .success(latency: latency)
        case 429, 503: self = .overload(pause: RetryAfter.delay(in: head, now: .now))
        case 504: self = .overload(pause: nil)
        // A refusal is often made without the work that an answer takes.
        default: self = .neutral
        }
    }

    /// Creates the outcome of an error.
    init(_ error: any Error) {
        guard let error = error as? TrellisError else {
            self = .neutral
            return
        }
        switch error.reason {
        case .timedOut(.responseHead): self = .overload(pause: nil)
        case .timedOut(.connect) where !error.isUntried && !error.isTrustTimeout: self = .overload(pause: nil)
        case .timedOut(.idle), .timedOut(.total):
            // The host was asked and has not responded in time. In the other phases the time was not the host's.
            let isHosts = error.phase == .connecting || error.phase == .sending
            self = isHosts ? .overload(pause: nil) : .neutral
        case .validationFailed:
            self = error.response.map { Self($0.head, latency: nil) } ?? .neutral
        default: self = .neutral
        }
    }
}
