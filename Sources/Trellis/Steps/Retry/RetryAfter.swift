import HTTPTypes

/// The time that a server asks its clients to stay away, in `Retry-After` (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// Returns the time that the fields of a response ask for; `nil` if there is no valid `Retry-After`.
    ///
    /// A date is compared with the server's own in `Date`, if the server sent one: the clocks of both sides need not agree.
    /// The longest time of several fields counts.
    static func delay(in fields: HTTPFields, now: HTTPDate) -> Duration? {
        let values = fields[values: .retryAfter]
        guard !values.isEmpty else { return nil }
        let serverTime = fields[values: .date].first.flatMap { HTTPDate($0, now: now) }
        return values.compactMap { delay(of: $0, now: serverTime ?? now) }.max()
    }

    /// Returns the time that a value asks for: seconds, or an instant. An instant that has passed is zero, and too large a number
    /// of seconds is replaced by the largest. `nil` if the value is anything else, such as a negative number or a fraction.
    static func delay(of value: String, now: HTTPDate) -> Duration? {
        let digits = value.utf8
        if !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(Int64(value).map { min($0, longest) } ?? longest)
        }
        return HTTPDate(value, now: now).map { date in
            .seconds(min(max(date.secondsSince1970 - now.secondsSince1970, 0), longest))
        }
    }

    /// The largest number of seconds, far beyond any limit, and far from the largest `Duration`.
    private static let longest: Int64 = 1 << 40
}
