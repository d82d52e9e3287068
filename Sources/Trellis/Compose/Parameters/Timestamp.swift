import FoundationEssentials

/// The timestamps of RFC 3339 (section 5.6), always in UTC and the Gregorian calendar. Foundation's own style changes to the
/// Julian calendar before October 1582, and writes a date for every number, even for one that is not a date.
enum Timestamp {
    /// The error for a date that is not a number, or whose year does not have four digits.
    struct OutOfRange: Error, CustomStringConvertible {
        var description: String { "the date is outside the years 0000 to 9999" }
    }

    /// Returns the text of a date; fractions of a second, or of a millisecond, are cut off.
    static func text(_ date: Date, withMilliseconds: Bool) throws(OutOfRange) -> String {
        let time = date.timeIntervalSince1970
        // The condition is also false for NaN.
        guard time >= -62_167_219_200, time < 253_402_300_800 else { throw OutOfRange() }
        let whole = time.rounded(.down)
        let seconds = Int(whole) + 62_167_219_200
        let (year, month, day) = calendarDay(seconds / 86_400)
        let second = seconds % 86_400
        let milliseconds = withMilliseconds ? "." + digits(min(999, Int((time - whole) * 1000)), 3) : ""
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T"
            + "\(digits(second / 3600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))\(milliseconds)Z"
    }

    /// Returns the calendar day that is `days` days after the first day of the year 0.
    private static func calendarDay(_ days: Int) -> (year: Int, month: Int, day: Int) {
        // Years that begin in March have their leap day at the end, and 400 years have 146,097 days; one added cycle of 400 years
        // keeps the numbers positive.
        let shifted = days - 60 + 146_097
        let (cycle, day) = (shifted / 146_097, shifted % 146_097)
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        // Five months in a row, counted from March, have 153 days.
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let isNextYear = month >= 10
        return (year + 400 * (cycle - 1) + (isNextYear ? 1 : 0), isNextYear ? month - 9 : month + 3, dayOfMonth)
    }

    private static func digits(_ number: Int, _ width: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
