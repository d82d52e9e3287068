import Testing

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The durations of an exchange.
struct HARTimelineTests {
    private static let millisecond: Int64 = 1_000_000

    /// Returns the instants of an exchange, in milliseconds.
    private static func timeline(
        _ queued: Int64, admitted: Int64? = nil, connected: Int64? = nil, sent: Int64? = nil, head: Int64? = nil
    ) -> HARTimeline {
        var timeline = HARTimeline(queued: queued * millisecond)
        timeline.admitted = admitted.map { $0 * millisecond }
        timeline.connected = connected.map { $0 * millisecond }
        timeline.sent = sent.map { $0 * millisecond }
        timeline.head = head.map { $0 * millisecond }
        return timeline
    }

    /// Returns metrics with durations in milliseconds.
    private static func metrics(
        queued: Int64 = 0, name: Int64 = 0, connect: Int64 = 0, tls: Int64 = 0, isReused: Bool = false
    ) -> Metrics {
        var metrics = Metrics()
        metrics.queued = .milliseconds(queued)
        metrics.nameLookup = .milliseconds(name)
        metrics.connect = .milliseconds(connect)
        metrics.tls = .milliseconds(tls)
        metrics.isReusedConnection = isReused
        return metrics
    }

    /// An exchange, the instant of its end, and the durations: blocked, dns, connect, ssl, send, wait, receive.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let timeline: HARTimeline
        let metrics: Metrics
        let end: Int64
        var failsAtName = false
        let durations: [Double]
    }

    static let cases = [
        Case(
            testDescription: "a new connection",
            timeline: timeline(100, admitted: 105, connected: 140, sent: 142, head: 162),
            metrics: metrics(queued: 5, name: 10, connect: 8, tls: 16), end: 192,
            durations: [6, 10, 24, 16, 2, 20, 30]),
        Case(
            testDescription: "a kept connection",
            timeline: timeline(0, admitted: 1, connected: 4, head: 14), metrics: metrics(queued: 1, isReused: true),
            end: 15,
            durations: [4, -1, -1, -1, 0, 10, 1]),
        Case(
            testDescription: "plain HTTP to an address",
            timeline: timeline(0, admitted: 0, connected: 3, head: 5), metrics: metrics(connect: 3), end: 5,
            durations: [0, -1, 3, -1, 0, 2, 0]),
        Case(
            testDescription: "a wait for a limit before the wait for a connection",
            timeline: timeline(50, admitted: 60, connected: 60, head: 70), metrics: metrics(queued: 40), end: 70,
            durations: [40, -1, -1, -1, 0, 10, 0]),
        Case(
            testDescription: "a connection that is refused", timeline: timeline(0, admitted: 1),
            metrics: metrics(name: 2),
            end: 10, durations: [1, 2, 7, -1, 0, 0, 0]),
        Case(
            testDescription: "a name that is not found", timeline: timeline(0, admitted: 1), metrics: metrics(),
            end: 10,
            failsAtName: true, durations: [1, 9, -1, -1, 0, 0, 0]),
        Case(
            testDescription: "a request that is cancelled while it waits", timeline: timeline(5), metrics: metrics(),
            end: 25,
            durations: [20, -1, -1, -1, 0, 0, 0]),
        Case(
            testDescription: "a server that does not answer", timeline: timeline(0, admitted: 0, connected: 1, sent: 2),
            metrics: metrics(connect: 1), end: 9, durations: [0, -1, 1, -1, 1, 7, 0]),
        // The transport's clock is another one.
        Case(
            testDescription: "a connection that took longer than the time from its beginning to its end",
            timeline: timeline(0, admitted: 0, connected: 4, head: 5), metrics: metrics(name: 3, connect: 2, tls: 2),
            end: 6,
            durations: [0, 3, 1, 0, 0, 1, 1]),
        Case(
            testDescription: "a head that arrives before the request is sent",
            timeline: timeline(0, admitted: 0, connected: 0, sent: 9, head: 4), metrics: metrics(), end: 9,
            durations: [0, -1, -1, -1, 4, 0, 5]),
    ]

    @Test(arguments: cases)
    func durations(_ row: Case) {
        let (timings, sum) = row.timeline.timings(
            row.metrics, end: row.end * Self.millisecond, failsAtName: row.failsAtName)
        #expect(
            [
                timings.blocked, timings.dns, timings.connect, timings.ssl, timings.send, timings.wait, timings.receive,
            ] == row.durations)
        #expect(abs(timings.sum - sum) < 1e-9)
        let start = row.timeline.start(row.metrics, end: row.end * Self.millisecond)
        #expect(abs(Double(start) / 1000 + sum - Double(row.end)) < 1e-9, "the durations end with the exchange")
    }

    /// Instants that are no whole microseconds do not let the sum differ.
    @Test(arguments: 0..<50)
    func theSumIsExact(_ seed: Int64) {
        var timeline = HARTimeline(queued: 1_000_333 * seed)
        timeline.admitted = timeline.queued + 777 * seed
        timeline.connected = timeline.queued + 1_234_567 * seed
        timeline.sent = timeline.queued + 1_234_999 * seed
        timeline.head = timeline.queued + 2_345_678 * seed
        var metrics = Metrics()
        metrics.queued = .nanoseconds(777 * seed)
        metrics.nameLookup = .nanoseconds(100_001 * seed)
        metrics.connect = .nanoseconds(200_003 * seed)
        metrics.tls = .nanoseconds(300_007 * seed)
        let (timings, sum) = timeline.timings(metrics, end: timeline.queued + 3_456_789 * seed)
        #expect(abs(timings.sum - sum) < 1e-9)
        #expect(timings.ssl <= timings.connect)
    }
}
