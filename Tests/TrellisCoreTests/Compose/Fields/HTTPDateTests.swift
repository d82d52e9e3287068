import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore

/// HTTP dates (RFC 9110, section 5.6.7).
struct HTTPDateTests {
    /// 2026-06-15.
    static let now = HTTPDate(secondsSince1970: 1_781_481_600)

    @Test(
        arguments: [
            // The three examples of RFC 9110.
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Sun Nov 16 08:49:37 1994", 784_975_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
            // A leap second, another day's name, other letter cases, another name of the time zone.
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("sUN, 06 nOV 1994 08:49:37 gmt", 784_111_777),
            ("Sun, 06 Nov 1994 08:49:37 UTC", 784_111_777),
        ] as [(String, Int64)])
    func theseAreInstants(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(text, now: Self.now)?.secondsSince1970 == seconds)
    }

    @Test(
        arguments: [
            ("Sunday, 01-Jan-26 00:00:00 GMT", 2026), ("Sunday, 01-Jan-76 00:00:00 GMT", 2076),
            ("Sunday, 01-Jan-77 00:00:00 GMT", 1977), ("Sunday, 01-Jan-99 00:00:00 GMT", 1999),
            ("Sunday, 01-Jan-00 00:00:00 GMT", 2000),
        ])
    func twoDigitsAreAYearThatIsNotFarInTheFuture(_ text: String, _ year: Int) {
        #expect(HTTPDate(text, now: Self.now)?.year == year)
    }

    @Test func twoDigitsMayMeanTheNextCentury() throws {
        let now = try #require(HTTPDate(year: 2099, month: 1, day: 1, hour: 0, minute: 0, second: 0))
        #expect(HTTPDate("Sunday, 01-Jan-05 00:00:00 GMT", now: now)?.year == 2105)
        #expect(HTTPDate("Sunday, 01-Jan-49 00:00:00 GMT", now: now)?.year == 2149)
        #expect(HTTPDate("Sunday, 01-Jan-50 00:00:00 GMT", now: now)?.year == 2050)
    }

    @Test(arguments: [
        "", "0", "-1", "now", "Sun", "Sun,", "Sun, ", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 ",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMTX",
        "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Foo, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov 6 08:49:37 1994", "Sun  Nov  6 08:49:37 1994",
        "Sunday Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT\r\nX: y", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT", "1994-11-06T08:49:37Z", "Wednesdayy, 06-Nov-94 08:49:37 GMT",
    ])
    func theseAreNone(_ text: String) { #expect(HTTPDate(text, now: Self.now) == nil) }

    /// The calendar of Foundation, as the independent result.
    @Test(arguments: 0..<200)
    func daysAreThoseOfTheCalendar(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let seconds = Int64.random(in: -60_000_000_000...250_000_000_000, using: &random)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let date = Date(timeIntervalSince1970: Double(seconds))
        let parts = calendar.dateComponents([.era, .year, .month, .day, .hour, .minute, .second], from: date)
        let year = try #require(parts.year)
        // Foundation uses the Julian calendar before October 1582.
        guard year > 1582 else { return }
        let made = HTTPDate(
            year: year, month: try #require(parts.month), day: try #require(parts.day),
            hour: try #require(parts.hour), minute: try #require(parts.minute), second: try #require(parts.second))
        #expect(made?.secondsSince1970 == seconds)
        #expect(made?.year == year)
        #expect(made?.date == date)
    }
}
