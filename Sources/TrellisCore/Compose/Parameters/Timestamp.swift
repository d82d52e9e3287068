import FoundationEssentials

/// The timestamps of RFC 3339 (section 5.6), always in UTC and the Gregorian calendar. Foundation's own style changes to the
/// Julian calendar before October 1582, and writes a date for every number, even for one that is not a date.
package enum Timestamp {
    /// The error for a date that is not a number, or whose year does not have four digits.
    package struct OutOfRange: Error, CustomStringConvertible {
        package var description: String { "the date is outside the years 0000 to 9999" }
    }

    /// Returns the text of a date; fractions of a second, or of a millisecond, are cut off.
    package static func text(_ date: Date, withMilliseconds: Bool) throws(OutOfRange) -> String {
        let time = date.timeIntervalSince1970
        // The condition is also false for NaN.
        guard time >= -62_167_219_200, time < 253_402_300_800 else { throw OutOfRange() }
        let whole = time.rounded(.down)
        let days = Int((whole / 86_400).rounded(.down))
        let day = GregorianDay(daysSince1970: days)
        let second = Int(whole) - days * 86_400
        let milliseconds = withMilliseconds ? "." + digits(min(999, Int((time - whole) * 1000)), 3) : ""
        return "\(digits(day.year, 4))-\(digits(day.month, 2))-\(digits(day.day, 2))T"
            + "\(digits(second / 3600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))\(milliseconds)Z"
    }

    /// Returns the milliseconds since 1970 of an instant, such as `2026-11-30T18:49:03.125Z` or `2026-11-30T19:49:03+01:00`; `nil` if the
    /// text has another form, or names no instant. Smaller fractions of a second are cut off.
    package static func milliseconds(_ text: String) -> Int64? {
        var scanner = InstantScanner(bytes: Array(text.utf8))
        guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
            let day = scanner.number(2), scanner.skip("Tt"), let hour = scanner.number(2), scanner.skip(":"),
            let minute = scanner.number(2), scanner.skip(":"), let second = scanner.number(2),
            let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.isAtEnd,
            let date = HTTPDate(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        return (date.secondsSince1970 - offset) * 1000 + fraction
    }

    /// The rest of a text.
    private struct InstantScanner {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        /// Skips one of some characters.
        mutating func skip(_ any: StaticString) -> Bool {
            guard position < bytes.count, any.description.utf8.contains(bytes[position]) else { return false }
            position += 1
            return true
        }

        mutating func digit() -> Int? {
            guard position < bytes.count, 0x30...0x39 ~= bytes[position] else { return nil }
            position += 1
            return Int(bytes[position - 1]) - 0x30
        }

        mutating func number(_ count: Int) -> Int? {
            var number = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        /// Takes a fraction of a second, if there is one. Returns its milliseconds.
        mutating func fraction() -> Int64? {
            guard skip(".") else { return 0 }
            guard let first = digit() else { return nil }
            var (milliseconds, unit) = (100 * first, 10)
            while let digit = digit() {
                milliseconds += digit * unit
                unit /= 10
            }
            return Int64(milliseconds)
        }

        /// Takes the zone. Returns its distance from UTC in seconds.
        mutating func offset() -> Int64? {
            if skip("Zz") { return 0 }
            let isEast = position < bytes.count && bytes[position] == UInt8(ascii: "+")
            guard skip("+-"), let hours = number(2), hours < 24, skip(":"), let minutes = number(2), minutes < 60
            else { return nil }
            return Int64(hours * 3600 + minutes * 60) * (isEast ? 1 : -1)
        }
    }

    private static func digits(_ number: Int, _ width: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
