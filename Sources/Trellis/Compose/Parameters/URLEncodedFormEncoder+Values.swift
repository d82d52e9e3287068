public import FoundationEssentials

extension URLEncodedFormEncoder {
    /// How `Bool` is written.
    public enum BoolEncoding: Sendable, Hashable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal

        func text(_ value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// How `Data` is written.
    public enum DataEncoding: Sendable {
        /// In Base64 (RFC 4648, section 4).
        case base64
        /// As the type encodes itself: an array of numbers.
        case deferredToData
        /// What a closure makes of it. What it throws is the error's underlying error.
        case custom(@Sendable (Data) throws -> String)

        func text(_ value: Data) throws -> String? {
            switch self {
            case .base64: value.base64EncodedString()
            case .deferredToData: nil
            case .custom(let text): try text(value)
            }
        }
    }

    /// How `Date` is written.
    public enum DateEncoding: Sendable {
        /// As the type encodes itself: the seconds since the beginning of 2001, with their fraction.
        case deferredToDate
        /// The seconds since the beginning of 1970, with their fraction: `0.5`.
        case secondsSince1970
        /// The milliseconds since the beginning of 1970, with their fraction: `500.0`.
        case millisecondsSince1970
        /// `1970-01-01T00:00:00Z` (RFC 3339), in the Gregorian calendar. Fractions of a second are cut off. A year that has not
        /// four digits is an error.
        case iso8601
        /// `1970-01-01T00:00:00.500Z` (RFC 3339), as ``iso8601``. What is less than a millisecond is cut off.
        case iso8601WithFractionalSeconds
        /// What a closure makes of it, for example `{ $0.formatted(style) }` or with a formatter of your own. What it throws is
        /// the error's underlying error.
        case custom(@Sendable (Date) throws -> String)

        func text(_ value: Date) throws -> String? {
            switch self {
            case .deferredToDate: nil
            // An interpolation would write the bits of what is no number.
            case .secondsSince1970: value.timeIntervalSince1970.description
            case .millisecondsSince1970: (value.timeIntervalSince1970 * 1000).description
            case .iso8601: try Timestamp.text(value, withMilliseconds: false)
            case .iso8601WithFractionalSeconds: try Timestamp.text(value, withMilliseconds: true)
            case .custom(let text): try text(value)
            }
        }
    }

    /// What becomes of `nil`, for a key `a`.
    public enum NilEncoding: Sendable {
        /// The key is left out; in an array, the element is, and the others keep their index.
        case dropKey
        /// `a=`
        case dropValue
        /// `a=null`
        case null
        /// What a closure returns; the key is left out if that is `nil`.
        case custom(@Sendable () -> String?)

        var text: String? {
            switch self {
            case .dropKey: nil
            case .dropValue: ""
            case .null: "null"
            case .custom(let text): text()
            }
        }
    }

    /// How spaces are written, in names and values.
    public enum SpaceEncoding: Sendable, Hashable {
        /// `%20`
        case percentEscaped
        /// `+`, as in the forms of browsers.
        case plusReplaced
    }
}
