import ArgumentParser
import Glibc
import Trellis

/// The argument of `-z`: a date, or the file whose date counts.
struct TimeCondition: ExpressibleByArgument, Sendable {
    /// The argument as written.
    let text: String
    /// Whether what has not changed is asked for.
    private let isUnmodified: Bool
    /// The seconds since 1970; `nil` if the text is neither a date nor a file.
    private let seconds: time_t?

    init?(argument: String) {
        text = argument
        isUnmodified = argument.utf8.first == UInt8(ascii: "-")
        let date = isUnmodified ? String(Substring(argument.utf8.dropFirst())) : argument
        seconds = WrittenDate(date)?.seconds ?? Self.seconds(ofFile: date)
    }

    /// The field of the request; `nil` if there is no date. The first copy of a file is requested without a condition, as with curl.
    var field: HTTPField? {
        guard let seconds else { return nil }
        return HTTPField(name: isUnmodified ? .ifUnmodifiedSince : .ifModifiedSince, value: Self.text(of: seconds))
    }

    private static func seconds(ofFile path: String) -> time_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mtim.tv_sec : nil
    }

    private static func text(of seconds: time_t) -> String {
        var (seconds, parts) = (seconds, tm())
        gmtime_r(&seconds, &parts)
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { bytes -> Int in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return 0 }
            return strftime(start, bytes.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// A date as people and servers write it, in UTC: `Sun, 06 Nov 1994 08:49:37 GMT`, `6 Nov 1994`, `1994-11-06 08:49` or `19941106`.
struct WrittenDate {
    private var year: Int32?
    private var month: Int32?
    private var day: Int32?
    private var time: [Int32] = [0, 0, 0]

    /// Reads a date; `nil` if the text is none.
    init?(_ text: String) {
        var rest = text.lowercasedASCII().utf8[...]
        while let first = rest.first {
            let isWord = Self.isLetter(first)
            let word = rest.prefix { Self.isLetter($0) == isWord && (isWord || Self.isDigit($0)) }
            rest = rest.dropFirst(max(word.count, 1))
            if word.isEmpty {
                guard " ,-/.".utf8.contains(first) else { return nil }
            } else {
                guard isWord ? take(word: String(Substring(word))) : take(numbers: word) else { return nil }
            }
        }
        guard let year, let month, let day, (1601...9999).contains(year), (1...12).contains(month),
            (1...31).contains(day), time[0] < 24, time[1] < 60, time[2] <= 60
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// The seconds since 1970.
    var seconds: time_t {
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = ((year ?? 1970) - 1900, (month ?? 1) - 1, day ?? 1)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (time[0], time[1], time[2])
        return timegm(&parts)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || byte == UInt8(ascii: ":") }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let days: Set<String> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// Takes the name of a month, of a day or of the zone. Returns `false` for another word.
    private mutating func take(word: String) -> Bool {
        if ["t", "z", "gmt", "utc"].contains(word) { return true }
        let start = String(Substring(word.utf8.prefix(3)))
        if Self.days.contains(start) { return true }
        guard month == nil, let index = Self.months.firstIndex(of: start) else { return false }
        month = Int32(index) + 1
        return true
    }

    /// Takes a time, or a number of the date, whose place says what it is. Returns `false` for another number.
    private mutating func take(numbers: Substring.UTF8View) -> Bool {
        let numbers = numbers.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let values = numbers.compactMap { Int32(String(Substring($0))) }
        guard values.count == numbers.count else { return false }
        if (2...3).contains(values.count) {
            time.replaceSubrange(..<values.count, with: values)
            return true
        }
        guard values.count == 1 else { return false }
        switch (numbers[0].count, values[0]) {
        case (8, let value) where year == nil && month == nil && day == nil:
            (year, month, day) = (value / 10_000, value / 100 % 100, value % 100)
        case (4, let value) where year == nil: year = value
        case (1...2, let value) where year != nil && month == nil: month = value
        case (1...2, let value) where day == nil: day = value
        // A year of two digits is of the years from 1970 on.
        case (2, let value) where year == nil: year = value + (value < 70 ? 2000 : 1900)
        default: return false
        }
        return true
    }
}

/// The time of a file that `-R` sets.
enum RemoteTime {
    /// Gives a file the time of a response's `Last-Modified`, if it has one. Returns the reason why that is not possible, if it is not.
    static func set(_ path: String, from response: Response) -> String? {
        guard let date = response.headers[.lastModified].flatMap({ WrittenDate($0) }) else { return nil }
        let time = timespec(tv_sec: date.seconds, tv_nsec: 0)
        guard utimensat(AT_FDCWD, path, [time, time], 0) != 0 else { return nil }
        return String(cString: strerror(errno))
    }
}
