import CurlEngine
import HTTPTypes

@testable import TrellisCaching
@testable import TrellisCore

/// Heads and times for tables. All times are relative to ``CacheSamples/start``, Sun, 06 Nov 1994 08:49:37 GMT.
enum CacheSamples {
    static let start = CacheTime(milliseconds: 784_111_777_000)

    static func time(_ seconds: Double) -> CacheTime {
        CacheTime(milliseconds: start.milliseconds + Int64(seconds * 1000))
    }

    /// Returns the text of an instant in the preferred form.
    static func date(_ seconds: Int64) -> String {
        let time = start.milliseconds / 1000 + seconds
        var days = time / 86_400
        let rest = time % 86_400
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
        var (year, month) = (1970, 0)
        func length(_ year: Int) -> Int64 { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365 }
        while days >= length(year) {
            days -= length(year)
            year += 1
        }
        let lengths: [Int64] = [31, length(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        while days >= lengths[month] {
            days -= lengths[month]
            month += 1
        }
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map(two).joined(separator: ":")
        return "\(weekday), \(two(days + 1)) \(names[month]) \(year) \(clock) GMT"
    }

    /// Returns fields from lines such as `Cache-Control: max-age=1`.
    static func fields(_ lines: [String]) -> HTTPFields {
        HTTPFields(
            lines.compactMap { line in
                guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                    return nil
                }
                return HTTPField(name: name, value: String(line[line.index(after: colon)...].drop { $0 == " " }))
            })
    }

    /// Returns a head that was received at the start.
    static func head(_ lines: [String], status: Int = 200, delay: Double = 0) -> StoredHead {
        StoredHead(status: status, headers: fields(lines), requestTime: time(-delay), responseTime: start)
    }

    /// Returns what follows from a head whose request had no fields.
    static func facts(_ head: StoredHead, _ policy: CachePolicy = CachePolicy()) -> CacheFacts {
        CacheFacts(CachedHead(head, request: [:]), Boxed(policy))
    }

    /// Returns a request with these lines.
    static func asked(
        _ lines: [String], method: HTTPRequest.Method = .get, mode: CacheMode = .default
    ) -> CacheDecision.Request {
        CacheDecision.Request(method: method, fields: CacheRequestFields(fields(lines)), mode: mode)
    }
}
