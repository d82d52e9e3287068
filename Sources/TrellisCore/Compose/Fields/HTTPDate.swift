import FoundationEssentials

/// An instant as HTTP fields represent it, to the second (RFC 9110, section 5.6.7).
package struct HTTPDate: Hashable, Comparable, Sendable {
    /// The seconds since 1970, without leap seconds; negative before 1970.
    package let secondsSince1970: Int64

    /// Creates an instant.
    package init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    /// Creates an instant from one of the three forms that a recipient has to accept:
    ///
    /// - `Sun, 06 Nov 1994 08:49:37 GMT`, the form that senders use today;
    /// - `Sunday, 06-Nov-94 08:49:37 GMT`, of RFC 850;
    /// - `Sun Nov  6 08:49:37 1994`, of C's `asctime`.
    ///
    /// Names may be written in any case, and the name of the day need not match the date, because many servers get the day wrong.
    /// Any other deviation makes the result `nil`.
    ///
    /// - Parameters:
    ///   - now: The present, to which a year of two digits is related: the year is at most 50 years in the future.
    ///   - acceptsUTC: Whether the zone may be written as `UTC`.
    package init?(_ text: String, now: HTTPDate, acceptsUTC: Bool = true) {
        let bytes = text.utf8.span
        if let date = HTTPDate(fixed: bytes) {
            self = date
            return
        }
        var scanner = HTTPDateScanner(text, acceptsUTC: acceptsUTC)
        guard let name = scanner.letters() else { return nil }
        let isShort = HTTPDateScanner.shortDays.contains(name)
        let seconds: Int64?
        if isShort, scanner.skip(", ") {
            seconds = scanner.fixedDate()
        } else if HTTPDateScanner.longDays.contains(name), scanner.skip(", ") {
            seconds = scanner.rfc850Date(now: now)
        } else if isShort, scanner.skip(" ") {
            seconds = scanner.asctimeDate()
        } else {
            return nil
        }
        guard let seconds, scanner.isAtEnd else { return nil }
        secondsSince1970 = seconds
    }

    /// Creates an instant from a text that is exactly as senders write it today, which takes a small part of the time of the other forms;
    /// `nil` for any other text.
    package init?(fixed bytes: Span<UInt8>) {
        guard bytes.count == 29 else { return nil }
        func number(_ start: Int) -> Int {
            let (tens, ones) = (Int(bytes[start]) - 0x30, Int(bytes[start + 1]) - 0x30)
            return 0...9 ~= tens && 0...9 ~= ones ? 10 * tens + ones : -1
        }
        /// Returns three bytes as one number.
        func name(_ start: Int) -> Int {
            Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
        }
        guard Self.days.contains(name(0)), name(3) >> 8 == 0x2C20, bytes[7] == 0x20,
            let month = Self.months.firstIndex(of: name(8)), bytes[11] == 0x20, bytes[16] == 0x20,
            bytes[19] == 0x3A, bytes[22] == 0x3A, bytes[25] == 0x20, name(26) == Self.zone
        else { return nil }
        let (day, century, year) = (number(5), number(12), number(14))
        let (hour, minute, second) = (number(17), number(20), number(23))
        guard min(day, century, year, hour, minute, second) >= 0 else { return nil }
        self.init(
            year: 100 * century + year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }

    private static func numbers(_ names: [String]) -> [Int] { names.map { $0.utf8.reduce(0) { $0 << 8 | Int($1) } } }

    /// The names of the days, from 1 January 1970 on.
    private static let dayNames = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let days = numbers(dayNames)
    private static let months = numbers(monthNames)
    /// The text `GMT` as a number.
    private static let zone = 0x47_4D_54

    /// The instant as a Foundation date.
    package var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }

    /// The present instant, rounded down to the second.
    package static var now: HTTPDate { HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970)) }

    package static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.secondsSince1970 < right.secondsSince1970 }

    /// The text of the instant as senders write it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
    package var text: String {
        let (days, rest) = (Int(secondsSince1970 / 86_400), secondsSince1970 % 86_400)
        // The rest is negative before 1970, except at midnight.
        let (day, second) = rest < 0 ? (days - 1, rest + 86_400) : (days, rest)
        let date = GregorianDay(daysSince1970: day)
        let numbers = [Int64(date.day), second / 3600, second / 60 % 60, second % 60].map {
            $0 < 10 ? "0\($0)" : "\($0)"
        }
        let clock = numbers[1...].joined(separator: ":")
        let weekday = Self.dayNames[(day % 7 + 7) % 7]
        return "\(weekday), \(numbers[0]) \(Self.monthNames[date.month - 1]) \(date.year) \(clock) GMT"
    }
}

extension HTTPDate {
    /// Creates an instant from a day of the Gregorian calendar and a time of day; `nil` if there is no such day or time. A leap
    /// second is treated as the second after it.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        let seconds = GregorianDay.secondsSince1970(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        guard let seconds else { return nil }
        secondsSince1970 = Int64(seconds)
    }

    /// The Gregorian year of the instant.
    var year: Int { GregorianDay(daysSince1970: Int((Double(secondsSince1970) / 86_400).rounded(.down))).year }
}
