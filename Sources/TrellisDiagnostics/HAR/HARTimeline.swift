import TrellisCore

/// The instants of one exchange, as nanoseconds since its call was made, and the durations of a HAR document that follow from them.
struct HARTimeline: Sendable, Hashable {
    /// The beginning of the wait for a connection.
    let queued: Int64
    /// The assignment of a connection slot; `nil` if there was none.
    var admitted: Int64?
    /// The readiness of the connection; `nil` if there was none.
    var connected: Int64?
    /// The sending of the complete request; `nil` if that is not known.
    var sent: Int64?
    /// The arrival of the head; `nil` if there was none.
    var head: Int64?

    /// Creates the instants of an exchange that waits for a connection.
    init(queued: Int64) { self.queued = queued }

    /// The last instant that is known.
    var latest: Int64 { head ?? sent ?? connected ?? admitted ?? queued }

    /// Returns the instant at which the exchange began, in microseconds: before the wait for the limits of its host.
    func start(_ metrics: Metrics, end: Int64) -> Int64 {
        max(0, min(queued, (admitted ?? end) - metrics.queuedTime)) / 1000
    }

    /// Returns the durations of an exchange.
    ///
    /// All of them are differences of whole microseconds, so that their sum is exact.
    ///
    /// - Parameters:
    ///   - end: The end of the exchange.
    ///   - failsAtName: Whether the exchange failed because the name was not resolved.
    func timings(_ metrics: Metrics, end: Int64, failsAtName: Bool = false) -> (HARDocument.Timings, sum: Double) {
        let start = start(metrics, end: end)
        let finish = max(end / 1000, start)
        let admitted = min(max((self.admitted ?? end) / 1000, start), finish)
        let ready = min(max((connected ?? head ?? end) / 1000, admitted), finish)
        let head = min(max((self.head ?? end) / 1000, ready), finish)
        var timings = HARDocument.Timings()
        var rest = ready - admitted
        if self.admitted != nil, !metrics.isReusedConnection {
            func take(_ nanoseconds: Int64) -> Int64? {
                guard nanoseconds > 0 else { return nil }
                let part = min(nanoseconds / 1000, rest)
                rest -= part
                return part
            }
            var name = take(metrics.nameLookupTime)
            let plain = take(metrics.connectTime)
            let secure = take(metrics.tlsTime)
            var connect = plain == nil && secure == nil ? nil : (plain ?? 0) + (secure ?? 0)
            if connected == nil, self.head == nil {
                // The step that failed has no duration of its own.
                if failsAtName { name = (name ?? 0) + rest } else { connect = (connect ?? 0) + rest }
                rest = 0
            }
            timings.dns = Self.milliseconds(name)
            timings.connect = Self.milliseconds(connect)
            timings.ssl = Self.milliseconds(secure)
        }
        timings.blocked = Self.milliseconds(admitted - start + rest)
        let sent = min(max((self.sent ?? 0) / 1000, ready), head)
        timings.send = Self.milliseconds(sent - ready)
        timings.wait = Self.milliseconds(head - sent)
        timings.receive = Self.milliseconds(finish - head)
        return (timings, Self.milliseconds(finish - start))
    }

    /// Returns a duration in milliseconds; -1 if there is none.
    private static func milliseconds(_ microseconds: Int64?) -> Double {
        microseconds.map { Double($0) / 1000 } ?? -1
    }
}
