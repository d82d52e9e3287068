import FoundationEssentials
import Testing

@testable import TrellisCore

/// Cookie dates (section 5.1.1). The examples are those that browser makers agreed on, and the edges of the grammar.
struct CookieDateTests {
    private static let april = "2017-04-15T21:01:22Z"

    static let dates: [(String, String)] = [
        ("Mon, 10-Dec-2007 17:02:24 GMT", "2007-12-10T17:02:24Z"),
        ("Wed, 09 Dec 2009 16:27:23 GMT", "2009-12-09T16:27:23Z"),
        ("Thursday, 01-Jan-1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
        ("Mon Dec 10 16:32:30 2007 GMT", "2007-12-10T16:32:30Z"),
        ("Wednesday, 01-Jan-10 00:00:00 GMT", "2010-01-01T00:00:00Z"),
        ("Mon, 10-Dec-07 20:35:03 GMT", "2007-12-10T20:35:03Z"),
        ("Saturday, 8-Dec-2012 21:24:09 GMT", "2012-12-08T21:24:09Z"),
        ("Thu, 31 Dec 23:55:55 2037 GMT", "2037-12-31T23:55:55Z"),
        ("Sun,  9 Dec 2012 13:42:05 GMT", "2012-12-09T13:42:05Z"),
        ("Wed Dec 12 2007 08:44:07 GMT-0500 (EST)", "2007-12-12T08:44:07Z"),
        ("Wednesday, 01-Jan-10 0:0:00 GMT", "2010-01-01T00:00:00Z"),
        ("Thu, 10 Dec 2009 13:57:2 GMT", "2009-12-10T13:57:02Z"),
        ("Sat, 15-Apr-17 21:01:22 GMT", april), ("Sat, 15-Apr-17 21:01:22", april),
        ("\"Sat, 15-Apr-17\\\"21:01:22\\\"GMT\"", april), ("Sat, 15-Apr-17 21:01:22 11:22:33", april),
        ("Sat, 15-Apr-17 ::00 21:01:22", april), ("Sat, 15-Apr-17 boink:z 21:01:22", april),
        ("15-Sat, Apr 21:01:22 GMT 17", april), ("15 17 Apr 21:01:22", april), ("Apr 15 17 21:01:22", april),
        ("2017 April 15 21:01:22", april), ("15 aPRiliana 2017x 21:01:22z9", april),
        ("Sat, 15/Apr\\2017 21:01:22 (hello there)", april), ("~15~Apr{2017|21:01:22", april),
        ("Mon, 18-Apr-77 22:50:13 GMT", "1977-04-18T22:50:13Z"),
        ("Partyday, 18 - Apri-07 22:50:12", "2007-04-18T22:50:12Z"),
        ("WillyWonka  ,  18-apr-07   22:50:12", "2007-04-18T22:50:12Z"),
        ("22:50:12 Thu Apr 18 2007 GMT", "2007-04-18T22:50:12Z"),
        ("1 Jan 69 00:00:00", "2069-01-01T00:00:00Z"), ("1 Jan 70 00:00:00", "1970-01-01T00:00:00Z"),
        ("1 Jan 99 00:00:00", "1999-01-01T00:00:00Z"), ("1 Jan 00 00:00:00", "2000-01-01T00:00:00Z"),
        ("29 Feb 2000 23:59:59", "2000-02-29T23:59:59Z"), ("29 Feb 2024 23:59:59", "2024-02-29T23:59:59Z"),
        ("1 Jan 1601 00:00:00", "1601-01-01T00:00:00Z"), ("31 Dec 9999 23:59:59", "9999-12-31T23:59:59Z"),
        ("1\u{e9} Jan 2001 00:00:00", "2001-01-01T00:00:00Z"),
    ]

    @Test(arguments: dates)
    func isFound(_ text: String, _ date: String) {
        #expect(CookieDate.date(text.utf8)?.formatted(.iso8601) == date)
    }

    @Test(arguments: [
        "", "IAintNoDateFool", "Sat, 15-Apr-17 91:22:33 21:01:22", "98 April 17 21:01:22",
        "Thu, 012-Aug-2008 20:49:07 GMT", "Thu, 12-Aug-31841 20:49:07 GMT", "Thu, 12-Aug-9999999999 20:49:07 GMT",
        "Thu, 999999999999-Aug-2007 20:49:07 GMT", "Thu, 12-Aug-2007 20:61:99999999999 GMT",
        "Mon, 01-Jan-2011 00: 00:00 GMT", "1 Jan 2001 24:00:00", "1 Jan 2001 00:60:00", "1 Jan 2001 00:00:60",
        "0 Jan 2001 00:00:00", "32 Jan 2001 00:00:00", "31 Apr 2001 00:00:00", "29 Feb 2001 00:00:00",
        "29 Feb 1900 00:00:00", "1 Jan 1600 00:00:00", "1 Ja 2001 00:00:00", "1 Jan 2001 00:00", "1 Jan 2 00:00:00",
        "1 Jan 2001 000:00:00", "1 Jan 2001 00:00:000", "Jan 2001 00:00:00", "2001-01-01T00:00:00Z",
    ])
    func isNotFound(_ text: String) { #expect(CookieDate.date(text.utf8) == nil) }

    private static let months = Dictionary(
        uniqueKeysWithValues: zip(
            (1...12).map { $0 < 10 ? "0\($0)" : "\($0)" },
            "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(separator: " ")))

    @Test func everyDayIsTheCalendars() throws {
        // A leap year, the years before and after, and a century that is no leap year.
        for start in ["1899-01-01", "1999-01-01", "2096-01-01"] {
            var day = try Date("\(start)T12:00:00Z", strategy: .iso8601)
            for _ in 0..<(5 * 366) {
                let parts = day.formatted(.iso8601).split { "-TZ".contains($0) }
                let text = try "\(parts[2]) \(#require(Self.months[String(parts[1])])) \(parts[0]) \(parts[3])"
                #expect(CookieDate.date(text.utf8) == day, "\(text)")
                day += 86_400
            }
        }
    }
}
