import CurlEngine
import FoundationEssentials

/// The parser of the date of an `Expires` attribute; accepts nearly all formats that servers have sent since 1994
/// (RFC 6265bis, section 5.1.1).
enum CookieDate {
    private struct Parts {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
    }

    /// Returns the date in a text, always taken as UTC; `nil` if there is none.
    static func date(_ text: some Collection<UInt8>) -> Date? {
        var parts = Parts()
        for token in text.split(whereSeparator: isDelimiter) {
            if parts.time == nil, let time = time(token) {
                parts.time = time
            } else if parts.day == nil, let day = number(token, digits: 1...2) {
                parts.day = day
            } else if parts.month == nil, let month = month(token) {
                parts.month = month
            } else if parts.year == nil, let year = number(token, digits: 2...4) {
                parts.year = year
            }
        }
        guard let time = parts.time, let day = parts.day, let month = parts.month, var year = parts.year else {
            return nil
        }
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        guard year >= 1601, time.second <= 59 else { return nil }
        return GregorianDay.secondsSince1970(
            year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second
        ).map { Date(timeIntervalSince1970: Double($0)) }
    }

    // MARK: Tokens

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// Returns the number that a token begins with, if its number of digits is in the range.
    private static func number(_ token: some Collection<UInt8>, digits: ClosedRange<Int>) -> Int? {
        let text = token.prefix(digits.upperBound + 1).prefix(while: isDigit)
        guard digits.contains(text.count) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Returns the time (`hour:minute:second`) that a token begins with.
    private static func time(_ token: some Collection<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
        var (hour, minute, value) = (0, 0, 0)
        var (colons, digits) = (0, 0)
        for byte in token {
            if isDigit(byte) {
                digits += 1
                value = value * 10 + Int(byte - 0x30)
                guard digits <= 2 else { return nil }
            } else if byte == UInt8(ascii: ":"), colons < 2, digits > 0 {
                (hour, minute) = (minute, value)
                (colons, digits, value) = (colons + 1, 0, 0)
            } else {
                break
            }
        }
        return colons == 2 && digits > 0 ? (hour, minute, value) : nil
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { Array($0.utf8) }

    private static func month(_ token: some Collection<UInt8>) -> Int? {
        let name = token.prefix(3).map(\.lowercasedASCII)
        return months.firstIndex(of: name).map { $0 + 1 }
    }
}
