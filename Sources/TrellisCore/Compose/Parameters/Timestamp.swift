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

    private static func digits(_ number: Int, _ width: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
