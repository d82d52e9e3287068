/// A scanner for the parts of a date in the forms of RFC 9110, section 5.6.7. A part that is missing or malformed is `nil`.
struct HTTPDateScanner {
    static let shortDays: Set<String> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    static let longDays: Set<String> = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    private var rest: Substring.UTF8View
    private let acceptsUTC: Bool

    /// - Parameter acceptsUTC: Whether the zone may be written as `UTC`.
    init(_ text: String, acceptsUTC: Bool) { (rest, self.acceptsUTC) = (text[...].utf8, acceptsUTC) }

    var isAtEnd: Bool { rest.isEmpty }

    // MARK: Forms, after the name of the day

    /// Takes a date such as `06 Nov 1994 08:49:37 GMT`, and returns its seconds since 1970.
    mutating func fixedDate() -> Int64? {
        guard let day = number(2), skip(" "), let month = month(), skip(" "), let year = number(4), skip(" "),
            let time = time(), skip(" "), zone()
        else { return nil }
        return seconds(year: year, month: month, day: day, time)
    }

    /// Takes a date such as `06-Nov-94 08:49:37 GMT`, and returns its seconds since 1970.
    mutating func rfc850Date(now: HTTPDate) -> Int64? {
        guard let day = number(2), skip("-"), let month = month(), skip("-"), let digits = number(2), skip(" "),
            let time = time(), skip(" "), zone()
        else { return nil }
        let present = now.year
        var year = present - present % 100 + digits
        if year > present + 50 { year -= 100 }
        // From 2055 on, 05 is the year 2105.
        if year + 100 <= present + 50 { year += 100 }
        return seconds(year: year, month: month, day: day, time)
    }

    /// Takes a date such as `Nov  6 08:49:37 1994`, and returns its seconds since 1970.
    mutating func asctimeDate() -> Int64? {
        guard let month = month(), skip(" "), let day = skip(" ") ? number(1) : number(2), skip(" "),
            let time = time(), skip(" "), let year = number(4)
        else { return nil }
        return seconds(year: year, month: month, day: day, time)
    }

    private func seconds(year: Int, month: Int, day: Int, _ time: [Int]) -> Int64? {
        HTTPDate(year: year, month: month, day: day, hour: time[0], minute: time[1], second: time[2])?
            .secondsSince1970
    }

    // MARK: Parts

    /// Removes the letters that follow, and returns them in lower case: nine at most, the length of the longest name of a day.
    mutating func letters() -> String? {
        let letters = rest.prefix(9).prefix { (0x61...0x7a).contains($0 | 0x20) }
        guard !letters.isEmpty else { return nil }
        rest = rest.dropFirst(letters.count)
        return String(decoding: letters.map { $0 | 0x20 }, as: UTF8.self)
    }

    /// Skips `text` if the rest begins with it, and returns whether it did.
    mutating func skip(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    private mutating func number(_ count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private mutating func month() -> Int? {
        letters().flatMap(Self.months.firstIndex).map { $0 + 1 }
    }

    private mutating func time() -> [Int]? {
        guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2) else {
            return nil
        }
        return [hour, minute, second]
    }

    /// Takes the time zone, and returns whether it is valid. All dates of HTTP are in GMT; some servers write UTC.
    private mutating func zone() -> Bool {
        let zone = letters()
        return zone == "gmt" || acceptsUTC && zone == "utc"
    }
}
