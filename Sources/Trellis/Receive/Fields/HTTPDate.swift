import FoundationEssentials

/// An instant as HTTP fields represent it, to the second (RFC 9110, section 5.6.7).
struct HTTPDate: Hashable, Comparable, Sendable {
    /// The seconds since 1970, without leap seconds; negative before 1970.
    let secondsSince1970: Int64

    /// Creates an instant.
    init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

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
    ///   - acceptsUTC: Indicates whether the zone may be written as `UTC`.
    init?(_ text: String, now: HTTPDate, acceptsUTC: Bool = true) {
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
    init?(fixed bytes: Span<UInt8>) {
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

    /// The names of the days, from that of 1 January 1970 on.
    private static let dayNames = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let days = numbers(dayNames)
    private static let months = numbers(monthNames)
    /// The text `GMT` as a number.
    private static let zone = 0x47_4D_54

    /// The instant as a Foundation date.
    var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }

    /// The present instant, rounded down to the second.
    static var now: HTTPDate { HTTPDate(secondsSince1970: Int64(Date().timeIntervalSince1970)) }

    static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.secondsSince1970 < right.secondsSince1970 }

    /// The text of the instant as senders write it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
    var text: String {
        let year = year
        let months = (1...12).compactMap {
            HTTPDate(year: year, month: $0, day: 1, hour: 0, minute: 0, second: 0)?.secondsSince1970
        }
        let month = months.lastIndex { $0 <= secondsSince1970 } ?? 0
        let rest = secondsSince1970 - months[month]
        let day = rest / 86_400
        let weekday = Int((months[month] / 86_400 + day) % 7 + 7) % 7
        let numbers = [day + 1, rest / 3600 % 24, rest / 60 % 60, rest % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        let clock = numbers[1...].joined(separator: ":")
        return "\(Self.dayNames[weekday]), \(numbers[0]) \(Self.monthNames[month]) \(year) \(clock) GMT"
    }
}

// MARK: The calendar

extension HTTPDate {
    /// Creates an instant from a day of the Gregorian calendar and a time of day; `nil` if there is no such day or time. A leap
    /// second is treated as the second after it.
    init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard (1...12).contains(month), (1...Self.days(inMonth: month, of: year)).contains(day) else { return nil }
        guard (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second) else { return nil }
        let days = Self.daysSince1970(year: year, month: month, day: day)
        secondsSince1970 = Int64(((days * 24 + hour) * 60 + minute) * 60 + second)
    }

    /// The Gregorian year of the instant.
    var year: Int {
        let days = Int((Double(secondsSince1970) / 86_400).rounded(.down))
        var year = 1970 + Int((Double(days) / 365.2425).rounded(.down))
        while Self.daysSince1970(year: year, month: 1, day: 1) > days { year -= 1 }
        while Self.daysSince1970(year: year + 1, month: 1, day: 1) <= days { year += 1 }
        return year
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        // Years from March to February, in periods of 400: a leap day is the last one of its year.
        let shifted = month > 2 ? year : year - 1
        let period = floored(shifted, by: 400)
        let yearOfPeriod = shifted - 400 * period
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfPeriod = 365 * yearOfPeriod + yearOfPeriod / 4 - yearOfPeriod / 100 + dayOfYear
        // There are 719,468 days from March of the year 0 to 1970.
        return 146_097 * period + dayOfPeriod - 719_468
    }

    private static func floored(_ value: Int, by divisor: Int) -> Int {
        value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }
}
