import CurlEngine
import HTTPTypes

/// The time that a server asks its clients to stay away: in `Retry-After` (RFC 9110, section 10.2.3), or in the fields of rate limits
/// that servers send without it.
package enum RetryAfter {
    /// Returns the time that a response asks for; `nil` if no field has a valid one. The first of these fields that has one counts, and the
    /// longest time of several equal fields:
    ///
    /// - `retry-after-ms`: milliseconds;
    /// - `Retry-After`: seconds or a date;
    /// - `RateLimit` (draft-ietf-httpapi-ratelimit-headers): the seconds of the policies that are used up;
    /// - `RateLimit-Reset` and `X-RateLimit-Reset`: seconds, or the instant in seconds or milliseconds since 1970, or a date.
    ///
    /// The last three are in many responses that no limit has caused. They count if they say that nothing remains or, where they do not
    /// say what remains, with a status of 429. An instant is compared with the server's own in `Date`, if the server sent one: the clocks
    /// of both sides need not agree.
    package static func delay(in head: ResponseHead, now: HTTPDate) -> Duration? {
        let fields = head.headers
        let now = fields[values: .date].first.flatMap { HTTPDate($0, now: now) } ?? now
        func longest(_ name: String, _ delay: (String) -> Duration?) -> Duration? {
            values(name, in: fields).compactMap(delay).max()
        }
        if let delay = longest("retry-after-ms", { number($0).map { $0 / 1000 } }) { return delay }
        if let delay = longest("Retry-After", { Self.delay(of: $0, now: now) }) { return delay }
        let isLimited = head.status.code == 429
        if let delay = policyDelay(values("RateLimit", in: fields), isLimited: isLimited) { return delay }
        for name in ["RateLimit", "X-RateLimit"] {
            let remaining = values("\(name)-Remaining", in: fields).first
            guard isSpent(remaining, isLimited: isLimited) else { continue }
            if let delay = longest("\(name)-Reset", { reset($0, now: now) }) { return delay }
        }
        return nil
    }

    /// Returns the time that a `Retry-After` asks for: seconds, or an instant. Although the field has no fractions, a fraction of a second
    /// is understood. An instant that has passed is zero, and too large a number of seconds is replaced by the largest. `nil` if the value
    /// is anything else, such as a negative number.
    static func delay(of value: String, now: HTTPDate) -> Duration? {
        number(value) ?? HTTPDate(value, now: now).map { delay(until: $0.secondsSince1970, now: now) }
    }

    private static func delay(until instant: Int64, now: HTTPDate) -> Duration {
        .seconds(min(max(instant - now.secondsSince1970, 0), longest))
    }

    /// Returns the time until the end of a limit: no limit lasts as long as the least instant, which is in 2001.
    private static func reset(_ value: String, now: HTTPDate) -> Duration? {
        guard let amount = number(value), amount >= .seconds(1_000_000_000) else { return delay(of: value, now: now) }
        let instant = amount >= .seconds(100_000_000_000) ? amount / 1000 : amount
        return max(instant - .seconds(now.secondsSince1970), .zero)
    }

    /// Returns the longest time of the policies in `RateLimit` that are used up: `"name";r=0;t=30`, or `remaining=0, reset=30` as in
    /// earlier drafts.
    private static func policyDelay(_ values: [String], isLimited: Bool) -> Duration? {
        var times: [String?] = []
        var (remaining, time): (String?, String?)
        for element in values.flatMap(FieldScanner.elements(of:)) {
            var scanner = FieldScanner(element)
            guard let name = scanner.tokenOrQuoted() else { continue }
            if scanner.take("=") {
                if name.hasSameBytes(as: "remaining") { remaining = scanner.token() }
                if name.hasSameBytes(as: "reset") { time = scanner.token() }
                continue
            }
            var parameters: (remaining: String?, time: String?)
            while scanner.skip(past: ";") {
                scanner.skipSpace()
                let name = scanner.token()
                guard scanner.take("=") else { continue }
                if name?.hasSameBytes(as: "r") == true { parameters.remaining = scanner.token() }
                if name?.hasSameBytes(as: "t") == true { parameters.time = scanner.token() }
            }
            if isSpent(parameters.remaining, isLimited: isLimited) { times.append(parameters.time) }
        }
        if isSpent(remaining, isLimited: isLimited) { times.append(time) }
        return times.compactMap { $0.flatMap(number) }.max()
    }

    private static func isSpent(_ remaining: String?, isLimited: Bool) -> Bool {
        remaining.map { number($0) == .zero } ?? isLimited
    }

    private static func values(_ name: String, in fields: HTTPFields) -> [String] {
        HTTPField.Name(name).map { fields[values: $0] } ?? []
    }

    /// Returns a number of seconds, with a fraction or without; `nil` if the value is none.
    private static func number(_ value: String) -> Duration? {
        let parts = value.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ part in !part.isEmpty && part.allSatisfy { (0x30...0x39).contains($0) } }) else {
            return nil
        }
        let seconds = Int64(Substring(parts[0])).map { min($0, longest) } ?? longest
        guard parts.count > 1 else { return .seconds(seconds) }
        let digits = parts[1].prefix(9).reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
        let scale = (min(parts[1].count, 9)..<9).reduce(Int64(1)) { scale, _ in scale * 10 }
        return .seconds(seconds) + .nanoseconds(digits * scale)
    }

    /// The largest number of seconds, far beyond any limit, and far from the largest `Duration`.
    private static let longest: Int64 = 1 << 42
}
