import CurlEngine
public import FoundationEssentials
public import HTTPTypes

/// A field that tells a server how much time is left of a call, so that it can stop work for which nobody waits any more.
///
/// ```swift
/// configuration.timeouts.deadlineField = .grpcTimeout
/// ```
///
/// Each request on the wire has it: each retry, each redirect within the origin, each hedge. Its value is what is left of
/// ``Timeouts/total`` when the head of the request is written, with its connection made (over HTTP/3, when the connection is begun). It is
/// rounded down, but never to zero, which means no limit to some servers.
///
/// A call without a total has no such field, and neither has the handshake of a WebSocket. After a redirect to another origin there is
/// none unless ``crossesOrigins`` says so. A field of the same name is replaced. Signers and events do not see it.
///
/// ``timeLeft(in:now:)`` reads the field of a request that a server has received. <doc:TimeLimits> has both.
public struct DeadlineField: Sendable, Hashable {
    /// The form of the value.
    enum Form: Sendable, Hashable, CaseIterable {
        case grpcTimeout, milliseconds, timestamp, httpDate
    }

    /// The name of the field. A name that is not a token (RFC 9110, section 5.1) makes sending the request an error of kind
    /// ``TrellisError/Kind/invalidRequest``.
    public let name: String
    let form: Form
    /// Whether the field is sent to another origin too, after a redirect. The default is `false`: how long its callers wait is nothing that
    /// a service tells to strangers.
    public var crossesOrigins = false

    /// The field `grpc-timeout` of gRPC over HTTP/2: at most eight digits and a unit from `n` (nanoseconds) to `H` (hours), the finest one
    /// in which the time that is left has eight digits.
    public static let grpcTimeout = DeadlineField(name: "grpc-timeout", form: .grpcTimeout)

    /// Returns a field with the time that is left in milliseconds, in at most ten digits, such as `X-Request-Timeout: 2500`.
    public static func milliseconds(_ name: String) -> DeadlineField { DeadlineField(name: name, form: .milliseconds) }

    /// Returns a field with the instant of the deadline to the millisecond, in UTC: `2026-11-30T18:49:03.125Z` (RFC 3339, section 5.6).
    ///
    /// An instant means the same on both sides only as far as their clocks agree. It is the system's, whatever clock the session has.
    public static func timestamp(_ name: String) -> DeadlineField { DeadlineField(name: name, form: .timestamp) }

    /// Returns a field with the instant of the deadline to the second: `Mon, 30 Nov 2026 18:49:03 GMT` (RFC 9110, section 5.6.7).
    ///
    /// In the last second of a call, the instant is past already. The clocks count as in ``timestamp(_:)``.
    public static func httpDate(_ name: String) -> DeadlineField { DeadlineField(name: name, form: .httpDate) }

    /// Returns the time that is left according to a field of a request that was received; `nil` if the request has no such field, several,
    /// or one that is malformed. A deadline that has passed is zero.
    ///
    /// ```swift
    /// if let left = DeadlineField.grpcTimeout.timeLeft(in: incoming.headerFields) { timeouts.total = left }
    /// ```
    ///
    /// - Parameter now: The present, which counts for instants; the system's unless given.
    public func timeLeft(in fields: HTTPFields, now: Date = Date()) -> Duration? {
        guard let name = HTTPField.Name(ofField: name) else { return nil }
        let values = fields[values: name]
        guard values.count == 1 else { return nil }
        switch form {
        case .grpcTimeout: return Self.duration(grpcTimeout: values[0])
        case .milliseconds: return Self.number(values[0].utf8.span, upTo: 10).map { .milliseconds($0) }
        case .timestamp: return Timestamp.milliseconds(values[0]).map { Self.time(from: now, to: $0) }
        case .httpDate:
            let present = HTTPDate(secondsSince1970: Int64(exactly: now.timeIntervalSince1970.rounded(.down)) ?? 0)
            return HTTPDate(values[0], now: present).map { Self.time(from: now, to: $0.secondsSince1970 * 1000) }
        }
    }
}

extension DeadlineField {
    /// The units of `grpc-timeout`, finest first, with their lengths in nanoseconds.
    private static let units: [(name: UInt8, length: UInt64)] = [
        (UInt8(ascii: "n"), 1), (UInt8(ascii: "u"), 1_000), (UInt8(ascii: "m"), 1_000_000),
        (UInt8(ascii: "S"), 1_000_000_000), (UInt8(ascii: "M"), 60_000_000_000),
        (UInt8(ascii: "H"), 3_600_000_000_000),
    ]
    /// The largest number of `grpc-timeout`.
    private static let largestNumber: UInt64 = 99_999_999
    /// The largest number of milliseconds.
    private static let largestMilliseconds: UInt64 = 9_999_999_999

    /// Returns the value of the field.
    ///
    /// - Parameters:
    ///   - left: The time that is left, in nanoseconds.
    ///   - now: The present on the system's clock.
    func value(left: UInt64, now: @autoclosure () -> Date) -> String {
        switch form {
        case .grpcTimeout:
            for unit in Self.units where left / unit.length <= Self.largestNumber {
                return "\(max(left / unit.length, 1))" + String(decoding: [unit.name], as: UTF8.self)
            }
            return "\(Self.largestNumber)H"
        case .milliseconds: return "\(min(max(left / 1_000_000, 1), Self.largestMilliseconds))"
        case .timestamp:
            // The half keeps the number from being rounded to the millisecond before.
            let end = Date(timeIntervalSince1970: (Double(Self.end(left, from: now())) + 0.5) / 1000)
            return (try? Timestamp.text(end, withMilliseconds: true)) ?? "9999-12-31T23:59:59.999Z"
        case .httpDate: return HTTPDate(secondsSince1970: Self.end(left, from: now()) / 1000).text
        }
    }

    /// Returns the end of a time, in milliseconds since 1970.
    private static func end(_ left: UInt64, from now: Date) -> Int64 {
        Int64((now.timeIntervalSince1970 * 1000).rounded(.down)) + Int64(left / 1_000_000)
    }

    /// Returns the time from one instant to another, in milliseconds since 1970; zero if that is past.
    private static func time(from now: Date, to end: Int64) -> Duration {
        let left = Double(end) - (now.timeIntervalSince1970 * 1000).rounded(.up)
        // The condition is also false for NaN.
        return left > 0 ? .milliseconds(Int64(min(left, 1e15))) : .zero
    }

    /// Reads the value of `grpc-timeout`.
    private static func duration(grpcTimeout text: String) -> Duration? {
        let bytes = text.utf8.span
        guard bytes.count > 1, let unit = units.first(where: { $0.name == bytes[bytes.count - 1] }),
            let number = number(bytes.extracting(droppingLast: 1), upTo: 8)
        else { return nil }
        return .nanoseconds(Int64(unit.length)) * Int(number)
    }

    /// Reads a number without a sign.
    private static func number(_ digits: Span<UInt8>, upTo count: Int) -> Int64? {
        guard 1...count ~= digits.count else { return nil }
        var number: Int64 = 0
        for index in digits.indices {
            let digit = Int64(digits[index]) - 0x30
            guard 0...9 ~= digit else { return nil }
            number = number * 10 + digit
        }
        return number
    }
}
