import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The time that is left of a call, as a field that a server reads.
struct DeadlineFieldTests {
    /// 18:49:03.125 UTC on 30 November 2026.
    private let now = Date(timeIntervalSince1970: 1_796_064_543.125)

    /// Every boundary between two units, from both sides.
    @Test(arguments: [
        (0, "1n"), (1, "1n"), (99_999_999, "99999999n"),
        (100_000_000, "100000u"), (100_000_999, "100000u"), (99_999_999_999, "99999999u"),
        (100_000_000_000, "100000m"), (100_000_999_999, "100000m"), (99_999_999_999_999, "99999999m"),
        (100_000_000_000_000, "100000S"), (99_999_999_999_999_999, "99999999S"),
        (100_000_000_000_000_000, "1666666M"), (5_999_999_940_000_000_000, "99999999M"),
        (5_999_999_999_999_999_999, "99999999M"), (6_000_000_000_000_000_000, "1666666H"), (UInt64.max, "5124095H"),
    ])
    func grpcTimeoutHasEightDigitsAndTheFinestUnit(_ left: UInt64, _ value: String) {
        #expect(DeadlineField.grpcTimeout.value(left: left, now: now) == value)
    }

    @Test(arguments: [
        (0, "1"), (999_999, "1"), (1_000_000, "1"), (1_999_999, "1"), (2_000_000, "2"), (2_500_999_999, "2500"),
        (9_999_999_999_000_000, "9999999999"), (UInt64.max, "9999999999"),
    ])
    func millisecondsHaveTenDigits(_ left: UInt64, _ value: String) {
        #expect(DeadlineField.milliseconds("X-Request-Timeout").value(left: left, now: now) == value)
    }

    @Test func anInstantIsRoundedDown() {
        let (timestamp, date) = (DeadlineField.timestamp("X-Deadline"), DeadlineField.httpDate("X-Deadline"))
        #expect(timestamp.value(left: 0, now: now) == "2026-11-30T18:49:03.125Z")
        #expect(timestamp.value(left: 1_499_999_999, now: now) == "2026-11-30T18:49:04.624Z")
        #expect(timestamp.value(left: .max, now: now).hasPrefix("2611-"))
        #expect(date.value(left: 0, now: now) == "Mon, 30 Nov 2026 18:49:03 GMT")
        #expect(date.value(left: 1_800_000_000, now: now) == "Mon, 30 Nov 2026 18:49:04 GMT")
    }

    /// Whatever is written is read as no more than what was left, and as little less as its form allows.
    @Test(arguments: [1, 999, 1_000_000, 99_999_999, 100_000_001, 7_123_456_789, 99_999_999_999_999, 3_600_000_000_001])
    func whatIsReadIsNoMoreThanWhatWasLeft(_ left: UInt64) throws {
        let fields: [(DeadlineField, precision: Duration)] = [
            (.grpcTimeout, .nanoseconds(left / 1000)), (.milliseconds("A"), .milliseconds(1)),
            (.timestamp("A"), .milliseconds(2)), (.httpDate("A"), .seconds(1)),
        ]
        for (field, precision) in fields {
            var headers = HTTPFields()
            headers[field.name] = field.value(left: left, now: now)
            let read = try #require(field.timeLeft(in: headers, now: now))
            let (real, least) = (Duration.nanoseconds(left), Duration.milliseconds(field == .milliseconds("A") ? 1 : 0))
            #expect(read <= max(real, least), "\(headers)")
            #expect(read >= real - precision, "\(headers)")
        }
    }

    @Test(arguments: [
        ("1H", Duration?.some(.seconds(3600))), ("2M", .seconds(120)), ("3S", .seconds(3)), ("4m", .milliseconds(4)),
        ("5u", .microseconds(5)), ("6n", .nanoseconds(6)), ("0n", .zero),
        ("99999999H", .seconds(359_999_996_400)), ("100000000n", nil), ("", nil), ("S", nil), ("1", nil), ("1s", nil),
        ("-1S", nil), ("+1S", nil), ("1.5S", nil), ("1 S", nil), ("1S, 2S", nil), ("１S", nil),
    ])
    func grpcTimeoutIsReadStrictly(_ value: String, _ left: Duration?) {
        #expect(DeadlineField.grpcTimeout.timeLeft(in: [.init("grpc-timeout") ?? .te: value]) == left)
    }

    @Test(arguments: [
        ("2026-11-30T18:49:04.125Z", Duration?.some(.seconds(1))), ("2026-11-30T19:49:04.125999+01:00", .seconds(1)),
        ("2026-11-30t18:49:04z", .milliseconds(875)), ("2026-11-30T18:49:03Z", .zero), ("1999-01-01T00:00:00Z", .zero),
        ("2026-11-30T18:49:04", nil), ("2026-11-30 18:49:04Z", nil), ("2026-02-30T18:49:04Z", nil),
        ("2026-11-30T25:49:04Z", nil), ("2026-11-30T18:49:04.Z", nil), ("2026-11-30T18:49:04+1:00", nil),
        ("2026-11-30T18:49:04Zx", nil), ("tomorrow", nil), ("", nil),
    ])
    func aTimestampIsReadStrictly(_ value: String, _ left: Duration?) {
        var headers = HTTPFields()
        headers["X-Deadline"] = value
        #expect(DeadlineField.timestamp("X-Deadline").timeLeft(in: headers, now: now) == left)
    }

    @Test func severalFieldsAndInvalidNamesAreNoDeadline() {
        var headers = HTTPFields()
        for value in ["1000", "2000"] { headers.append("X-Request-Timeout", value) }
        #expect(DeadlineField.milliseconds("X-Request-Timeout").timeLeft(in: headers) == nil)
        #expect(DeadlineField.milliseconds("no token").timeLeft(in: headers) == nil)
        #expect(DeadlineField.milliseconds("x-other").timeLeft(in: headers) == nil)
    }

    @Test func aRequestTakesTheSessionsFieldUnlessItSetsOne() {
        var session = Timeouts(total: .seconds(5))
        session.deadlineField = .grpcTimeout
        var request = Timeouts(total: .seconds(1))
        #expect(request.completed(by: session).deadlineField == .grpcTimeout)
        request.deadlineField = .milliseconds("X-Request-Timeout")
        #expect(request.completed(by: session).deadlineField == .milliseconds("X-Request-Timeout"))
        #expect("\(request)" == "Timeouts(total: 1.0 s, deadlineField: X-Request-Timeout)")
        request.deadlineField = nil
        #expect(request.completed(by: session).deadlineField == nil)
        #expect("\(request)" == "Timeouts(total: 1.0 s, deadlineField: none)")
    }
}
