import CurlEngine
import Testing

@_spi(Transport) @testable import TrellisCore

/// The times of a request, computed from those that a transport measures from the start of its attempt.
struct MetricsTests {
    private static func instant(_ milliseconds: UInt64) -> EngineInstant {
        .init(nanoseconds: milliseconds * 1_000_000)
    }

    private static var report: TransportReport {
        var report = TransportReport()
        report.nameLookup = 2_000_000
        report.connect = 5_000_000
        report.tls = 9_000_000
        report.firstByte = 20_000_000
        report.bytesSent = 100
        report.bytesReceived = 200
        report.peerHost = "192.0.2.1"
        report.peerPort = 443
        return report
    }

    @Test func timesOfTheAttemptBecomePartsAndTimesFromTheCall() {
        var metrics = Metrics()
        metrics.measure(
            Boxed(Self.report), start: Self.instant(1000), attemptStart: Self.instant(1030), now: Self.instant(1100),
            version: .http2)
        #expect(metrics.queued == .milliseconds(30))
        #expect(metrics.nameLookup == .milliseconds(2))
        #expect(metrics.connect == .milliseconds(3))
        #expect(metrics.tls == .milliseconds(4))
        #expect(metrics.firstByte == .milliseconds(50))
        #expect(metrics.total == .milliseconds(100))
        #expect(metrics.attemptCount == 1)
        #expect(metrics.version == .http2)
        #expect(metrics.peerAddress == "192.0.2.1:443")
        #expect((metrics.bytesSent, metrics.bytesReceived) == (100, 200))
    }

    @Test func withoutAnAttemptEverythingWasQueueing() {
        var metrics = Metrics()
        metrics.measure(
            Boxed(Self.report), start: Self.instant(1000), attemptStart: nil, now: Self.instant(1100), version: nil)
        #expect(metrics.queued == .milliseconds(100))
        #expect(metrics.attemptCount == 0)
        #expect(metrics.connect == .zero)
    }

    @Test func aReusedConnectionHasNoTimesOfItsOwnAndNoneIsNegative() {
        var report = TransportReport()
        report.nameLookup = 40_000
        report.firstByte = 3_000_000
        report.isReusedConnection = true
        var metrics = Metrics()
        metrics.measure(
            Boxed(report), start: Self.instant(0), attemptStart: Self.instant(0), now: Self.instant(5),
            version: .http1_1)
        #expect(metrics.connect == .zero)
        #expect(metrics.tls == .zero)
        #expect(metrics.isReusedConnection)
    }

    @Test(arguments: [Duration.zero, .nanoseconds(1), .seconds(3600), .seconds(-1)])
    func whatIsSetIsRead(_ duration: Duration) {
        var metrics = Metrics()
        metrics.total = duration
        #expect(metrics.total == duration)
    }

    /// The longest durations are limited to the range of nanoseconds, and do not wrap around.
    @Test func aDurationBeyondTheRangeIsTheLongest() {
        var metrics = Metrics()
        for duration in [Duration.seconds(Int64.max), .seconds(9_223_372_036) + .milliseconds(999)] {
            metrics.total = duration
            #expect(metrics.total == .nanoseconds(Int64.max))
            metrics.total = .zero - duration
            #expect(metrics.total == .nanoseconds(Int64.min))
        }
    }
}
