import HTTPTypes

/// How long a server asks its clients to stay away (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// What the fields of a response ask for; `nil` where they do not, or not in a way that means anything.
    ///
    /// A date is compared with the server's own in `Date`, where it sent one: its clock and this one need not agree. Of several
    /// fields the longest wait counts.
    static func delay(in fields: HTTPFields, now: HTTPDate) -> Duration? {
        let values = fields[values: .retryAfter]
        guard !values.isEmpty else { return nil }
        let serverTime = fields[values: .date].first.flatMap { HTTPDate($0, now: now) }
        return values.compactMap { delay(of: $0, now: serverTime ?? now) }.max()
    }

    /// What a value asks for: seconds, or an instant. An instant that has passed is zero, and more seconds than can be counted
    /// are as many as can be. Anything else, negative numbers and fractions included, is `nil`.
    static func delay(of value: String, now: HTTPDate) -> Duration? {
        let digits = value.utf8
        if !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(Int64(value).map { min($0, longest) } ?? longest)
        }
        return HTTPDate(value, now: now).map { date in
            .seconds(min(max(date.secondsSince1970 - now.secondsSince1970, 0), longest))
        }
    }

    /// Far beyond any limit, and far from what a `Duration` holds.
    private static let longest: Int64 = 1 << 40
}
