import CurlEngine
import FoundationEssentials
import TrellisCore

/// The dates in curl's own files: `20191231 10:00:00`, in UTC.
enum CurlTimestamp {
    /// The last second that the form can hold, the end of the year 9999, in seconds since 1970.
    static let endOfTime = 253_402_300_799.0

    /// Returns the date that is this many seconds after another one, and never after the end of time.
    static func date(_ seconds: Int64, after start: Date) -> Date {
        Date(timeIntervalSince1970: min(start.timeIntervalSince1970 + Double(seconds), endOfTime))
    }

    /// Returns the text of a date, rounded down to the second, so that no reader keeps a record for longer than its server said.
    static func text(_ date: Date) -> String {
        let seconds = min(max(date.timeIntervalSince1970.rounded(.down), 0), endOfTime)
        let text = try? Timestamp.text(Date(timeIntervalSince1970: seconds), withMilliseconds: false)
        let parts = (text ?? "").split(atByte: "T")
        guard parts.count == 2 else { return "" }
        return parts[0].split(atByte: "-").joined() + " " + parts[1].prefix(8)
    }

    /// Returns the date of a text; `nil` if the text has another form, or is no date.
    static func date(_ text: some StringProtocol) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 17, bytes[8] == 0x20, bytes[11] == 0x3a, bytes[14] == 0x3a else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            guard bytes[range].allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
            return bytes[range].reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
            let minute = number(12..<14), let second = number(15..<17), year >= 1970
        else { return nil }
        return HTTPDate(year: year, month: month, day: day, hour: hour, minute: minute, second: second)?.date
    }
}
