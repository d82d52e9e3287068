public import FoundationEssentials

extension URLEncodedFormEncoder {
    /// The text form of `Bool`.
    public enum BoolEncoding: Sendable, Hashable {
        /// The digits `1` and `0`
        case numeric
        /// The words `true` and `false`
        case literal

        func text(_ value: Bool) -> String {
            switch self {
            case .numeric: value ? "1" : "0"
            case .literal: value ? "true" : "false"
            }
        }
    }

    /// The text form of `Data`.
    public enum DataEncoding: Sendable {
        /// The Base64 text (RFC 4648, section 4).
        case base64
        /// The type's own encoding: an array of numbers.
        case deferredToData
        /// The text that a closure returns. An error that the closure throws becomes the underlying error of the `EncodingError`.
        case custom(@Sendable (Data) throws -> String)

        func text(_ value: Data) throws -> String? {
            switch self {
            case .base64: value.base64EncodedString()
            case .deferredToData: nil
            case .custom(let text): try text(value)
            }
        }
    }

    /// The text form of `Date`.
    public enum DateEncoding: Sendable {
        /// The type's own encoding: the seconds since the beginning of 2001, with their fraction.
        case deferredToDate
        /// The seconds since the beginning of 1970, with their fraction: `0.5`.
        case secondsSince1970
        /// The milliseconds since the beginning of 1970, with their fraction: `500.0`.
        case millisecondsSince1970
        /// The timestamp `1970-01-01T00:00:00Z` (RFC 3339), in the Gregorian calendar. Fractions of a second are cut off. A year
        /// without exactly four digits is an error.
        case iso8601
        /// The timestamp `1970-01-01T00:00:00.500Z` (RFC 3339), as in ``iso8601``. Fractions of a millisecond are cut off.
        case iso8601WithFractionalSeconds
        /// The text that a closure returns, for example with a formatter of your own; for a style see ``formatted(_:)``. An error
        /// that the closure throws becomes the underlying error of the `EncodingError`.
        case custom(@Sendable (Date) throws -> String)

        /// Returns the encoding that writes dates in a style: `.formatted(.iso8601.year().month().day())` for `1970-01-01`.
        ///
        /// A style has a time zone and a calendar of its own; `.iso8601` has GMT.
        public static func formatted(_ style: some FormatStyle<Date, String> & Sendable) -> DateEncoding {
            .custom { style.format($0) }
        }

        func text(_ value: Date) throws -> String? {
            switch self {
            case .deferredToDate: nil
            // An interpolation would write the bits of a NaN.
            case .secondsSince1970: value.timeIntervalSince1970.description
            case .millisecondsSince1970: (value.timeIntervalSince1970 * 1000).description
            case .iso8601: try Timestamp.text(value, withMilliseconds: false)
            case .iso8601WithFractionalSeconds: try Timestamp.text(value, withMilliseconds: true)
            case .custom(let text): try text(value)
            }
        }
    }

    /// The treatment of `nil`, for a key `a`.
    public enum NilEncoding: Sendable {
        /// The omission of the key; in an array, the element is left out and the other elements keep their index.
        case dropKey
        /// An empty value: `a=`
        case dropValue
        /// The word `null`: `a=null`
        case null
        /// The text that a closure returns; the key is left out if the closure returns `nil`.
        case custom(@Sendable () -> String?)

        /// The text that stands for `nil`; the key is left out if there is no text.
        var text: String? {
            switch self {
            case .dropKey: nil
            case .dropValue: ""
            case .null: "null"
            case .custom(let text): text()
            }
        }
    }

    /// The encoding of spaces in names and values.
    public enum SpaceEncoding: Sendable, Hashable {
        /// A percent-encoded space: `%20`
        case percentEscaped
        /// A plus sign: `+`, as in the forms of browsers.
        case plusReplaced
    }
}
