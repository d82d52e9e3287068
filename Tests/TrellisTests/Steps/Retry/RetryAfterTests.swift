import HTTPTypes
import Testing

@testable import Trellis

/// The wait that a server asks for in `Retry-After` (RFC 9110, section 10.2.3).
struct RetryAfterTests {
    /// 2026-06-15 00:00:00.
    static let now = HTTPDate(secondsSince1970: 1_781_481_600)

    @Test(
        arguments: [
            ("0", .zero), ("120", .seconds(120)), ("007", .seconds(7)),
            ("Mon, 15 Jun 2026 00:00:30 GMT", .seconds(30)), ("Monday, 15-Jun-26 00:00:30 GMT", .seconds(30)),
            ("Mon Jun 15 00:00:30 2026", .seconds(30)), ("Sun, 14 Jun 2026 23:59:59 GMT", .zero),
            ("Thu, 01 Jan 1970 00:00:00 GMT", .zero),
            // A number above the limit gives the maximum wait.
            ("9223372036854775807", .seconds(1 << 40)), ("9223372036854775808", .seconds(1 << 40)),
            (String(repeating: "9", count: 100), .seconds(1 << 40)),
        ] as [(String, Duration)])
    func theseAreDelays(_ value: String, _ delay: Duration) {
        #expect(RetryAfter.delay(of: value, now: Self.now) == delay)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.5", "1e3", "0x10", "1 2", "1,2", "soon", "١", "∞", "NaN", "120 seconds", "120;",
        "Mon, 15 Jun 2026", "Mon, 15 Jun 2026 00:00:30 PST", "2026-06-15T00:00:30Z", "\u{0}", "1\n",
    ])
    func theseAreNone(_ value: String) { #expect(RetryAfter.delay(of: value, now: Self.now) == nil) }

    struct Row: Sendable {
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
    ])
    func theFieldsSayHowLong(_ row: Row) throws {
        var fields = HTTPFields()
        for (name, value) in row.fields {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        #expect(RetryAfter.delay(in: fields, now: Self.now) == row.delay)
    }
}
