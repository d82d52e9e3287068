import HTTPTypes
import Testing

@testable import TrellisCore

/// The wait that a server asks for in `Retry-After` (RFC 9110, section 10.2.3), or in the fields of its rate limits.
struct RetryAfterTests {
    /// 2026-06-15 00:00:00.
    static let now = HTTPDate(secondsSince1970: 1_781_481_600)

    @Test(
        arguments: [
            ("0", .zero), ("120", .seconds(120)), ("007", .seconds(7)),
            ("Mon, 15 Jun 2026 00:00:30 GMT", .seconds(30)), ("Monday, 15-Jun-26 00:00:30 GMT", .seconds(30)),
            ("Mon Jun 15 00:00:30 2026", .seconds(30)), ("Sun, 14 Jun 2026 23:59:59 GMT", .zero),
            ("Thu, 01 Jan 1970 00:00:00 GMT", .zero),
            // A fraction is not valid, but to be believed.
            ("1.5", .milliseconds(1500)), ("0.000000001", .nanoseconds(1)),
            ("2.12345678901", .nanoseconds(2_123_456_789)),
            // A number above the limit gives the maximum wait.
            ("9223372036854775807", .seconds(1 << 42)), ("9223372036854775808", .seconds(1 << 42)),
            (String(repeating: "9", count: 100), .seconds(1 << 42)),
        ] as [(String, Duration)])
    func theseAreDelays(_ value: String, _ delay: Duration) {
        #expect(RetryAfter.delay(of: value, now: Self.now) == delay)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.", ".5", "1.2.3", "-1.5", "1e3", "0x10", "1 2", "1,2", "soon", "١", "∞", "NaN",
        "120 seconds", "120;",
        "Mon, 15 Jun 2026", "Mon, 15 Jun 2026 00:00:30 PST", "2026-06-15T00:00:30Z", "\u{0}", "1\n",
    ])
    func theseAreNone(_ value: String) { #expect(RetryAfter.delay(of: value, now: Self.now) == nil) }

    struct Row: Sendable {
        var status = 429
        let fields: [(String, String)]
        let delay: Duration?
    }

    @Test(arguments: [
        Row(fields: [], delay: nil),
        Row(fields: [("retry-after", "5")], delay: .seconds(5)),
        Row(fields: [("Retry-After", "garbage")], delay: nil),
        Row(fields: [("Retry-After", "garbage"), ("Retry-After", "3")], delay: .seconds(3)),
        Row(fields: [("Retry-After", "3"), ("Retry-After", "5"), ("Retry-After", "4")], delay: .seconds(5)),
        // The server's clock is an hour behind.
        Row(
            fields: [
                ("Date", "Sun, 14 Jun 2026 23:00:00 GMT"), ("Retry-After", "Sun, 14 Jun 2026 23:00:10 GMT"),
            ], delay: .seconds(10)),
        Row(
            fields: [("Date", "yesterday"), ("Retry-After", "Mon, 15 Jun 2026 00:00:10 GMT")],
            delay: .seconds(10)),
        // Fields of rate limits, as servers send them.
        Row(fields: [("retry-after-ms", "1500")], delay: .milliseconds(1500)),
        Row(fields: [("Retry-After", "2"), ("Retry-After-Ms", "1500")], delay: .milliseconds(1500)),
        Row(fields: [("Retry-After", "2"), ("retry-after-ms", "soon")], delay: .seconds(2)),
        Row(fields: [("Retry-After", "2"), ("RateLimit-Reset", "60")], delay: .seconds(2)),
        Row(fields: [("RateLimit-Reset", "2")], delay: .seconds(2)),
        Row(fields: [("X-RateLimit-Reset", "2.5")], delay: .milliseconds(2500)),
        Row(fields: [("X-RateLimit-Reset", "1781481603")], delay: .seconds(3)),
        Row(fields: [("X-RateLimit-Reset", "1781481603500")], delay: .milliseconds(3500)),
        Row(fields: [("X-RateLimit-Reset", "1781481500")], delay: .zero),
        Row(fields: [("X-RateLimit-Reset", "Mon, 15 Jun 2026 00:00:30 GMT")], delay: .seconds(30)),
        Row(
            fields: [("Date", "Sun, 14 Jun 2026 23:00:00 GMT"), ("X-RateLimit-Reset", "1781478010")],
            delay: .seconds(10)),
        Row(fields: [("X-RateLimit-Reset", "-1")], delay: nil),
        Row(fields: [("RateLimit", "\"default\";r=0;t=2")], delay: .seconds(2)),
        Row(
            fields: [("RateLimit", "\"a\";r=5;t=9, \"b\"; r=0; t=3"), ("RateLimit", "\"c\";t=2;r=0")],
            delay: .seconds(3)),
        Row(fields: [("RateLimit", "default;r=0;t=2")], delay: .seconds(2)),
        Row(fields: [("RateLimit", "\"a;r=0;t=9\";r=1;t=2")], delay: nil),
        Row(fields: [("RateLimit", "limit=100, remaining=0, reset=5")], delay: .seconds(5)),
        Row(fields: [("RateLimit", "limit=100, remaining=1, reset=5")], delay: nil),
        Row(fields: [("RateLimit", "\"default\";r=0"), ("RateLimit-Reset", "4")], delay: .seconds(4)),
        // Many responses name a limit that is not used up.
        Row(fields: [("X-RateLimit-Remaining", "57"), ("X-RateLimit-Reset", "60")], delay: nil),
        Row(status: 503, fields: [("X-RateLimit-Remaining", "57"), ("X-RateLimit-Reset", "60")], delay: nil),
        Row(status: 503, fields: [("X-RateLimit-Reset", "60")], delay: nil),
        Row(status: 503, fields: [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "60")], delay: .seconds(60)),
        Row(status: 503, fields: [("RateLimit", "\"default\";r=7;t=2")], delay: nil),
        Row(status: 503, fields: [("retry-after-ms", "20")], delay: .milliseconds(20)),
    ])
    func theFieldsSayHowLong(_ row: Row) throws {
        var fields = HTTPFields()
        for (name, value) in row.fields {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let head = ResponseHead(status: .init(code: row.status), headers: fields)
        #expect(RetryAfter.delay(in: head, now: Self.now) == row.delay)
    }
}
