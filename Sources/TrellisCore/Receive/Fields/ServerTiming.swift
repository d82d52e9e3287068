import CurlEngine
import HTTPTypes

/// A metric that a server reports about its work on a response: an element of the field `Server-Timing` (W3C Server Timing,
/// section 3.2).
///
/// ```swift
/// let (_, response) = try await session.data(url)
/// for timing in response.serverTimings { print(timing.name, timing.duration ?? .zero, timing.description ?? "") }
/// // Server-Timing: db;dur=53.2;desc="two queries", cache;desc=miss
/// ```
public struct ServerTiming: Sendable, Hashable {
    /// The name of the metric, as it was sent. Several metrics may have the same name.
    public let name: String
    /// The duration (`dur`, in milliseconds); `nil` if there is none, or if it is not a number.
    public let duration: Duration?
    /// The description (`desc`), if any.
    public let description: String?

    /// Creates a metric.
    public init(name: String, duration: Duration? = nil, description: String? = nil) {
        self.name = name
        self.duration = duration
        self.description = description
    }

    /// Returns the metrics in the value of a field, in their order.
    ///
    /// Nothing makes the value invalid as a whole: an element without a name is left out, and so are parameters other than `dur` and
    /// `desc`, further parameters of the same name, and text that no parameter may have. A name or a parameter may be followed by blanks.
    public static func metrics(in value: String) -> [ServerTiming] {
        var scanner = Scanner(value)
        var metrics: [ServerTiming] = []
        repeat {
            if let metric = scanner.metric() { metrics.append(metric) }
        } while scanner.skipPastComma()
        return metrics
    }
}

extension ServerTiming {
    /// The scanner of a field's value. Text between a parameter and the next separator is skipped, as browsers skip it.
    private struct Scanner {
        private let bytes: [UInt8]
        private var position = 0

        init(_ text: String) {
            bytes = Array(text.utf8)
            skipBlanks()
        }

        /// Takes the next metric, up to a comma or the end; `nil` if no name comes next.
        mutating func metric() -> ServerTiming? {
            guard let name = token() else {
                skipToSeparator()
                while take(";") { _ = parameter() }
                return nil
            }
            var (duration, description): (String?, String?)
            skipToSeparator()
            while take(";") {
                guard let (name, value) = parameter() else { continue }
                switch name {
                case "dur": duration = duration ?? value
                case "desc": description = description ?? value
                default: break
                }
            }
            return ServerTiming(name: name, duration: duration.flatMap(Self.duration), description: description)
        }

        /// Skips the next comma; returns `false` at the end.
        mutating func skipPastComma() -> Bool { take(",") }

        /// Takes a parameter, up to a separator or the end; `nil` if no name comes next. The value is empty if there is none.
        private mutating func parameter() -> (name: String, value: String)? {
            guard let name = token() else {
                skipToSeparator()
                return nil
            }
            var value = ""
            if take("=") { value = (isAt("\"") ? quoted() : token()) ?? "" }
            skipToSeparator()
            return (name.lowercasedASCII(), value)
        }

        /// Takes a token of one or more characters (RFC 9110, section 5.6.2), if any.
        private mutating func token() -> String? {
            let start = position
            while position < bytes.count, FieldScanner.isTokenByte(bytes[position]) { position += 1 }
            defer { skipBlanks() }
            return start < position ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
        }

        /// Takes a quoted string (RFC 9110, section 5.6.4); `nil`, after the opening quotation mark, if the string has no end.
        private mutating func quoted() -> String? {
            position += 1
            var (text, index): ([UInt8], Int) = ([], position)
            while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                if bytes[index] == UInt8(ascii: "\\") { index += 1 }
                if index < bytes.count { text.append(bytes[index]) }
                index += 1
            }
            guard index < bytes.count else { return nil }
            position = index + 1
            skipBlanks()
            return String(decoding: text, as: UTF8.self)
        }

        private mutating func skipToSeparator() {
            while position < bytes.count, !isAt(","), !isAt(";") { position += 1 }
        }

        private mutating func skipBlanks() {
            while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
        }

        private func isAt(_ mark: Unicode.Scalar) -> Bool {
            position < bytes.count && bytes[position] == UInt8(ascii: mark)
        }

        private mutating func take(_ mark: Unicode.Scalar) -> Bool {
            guard isAt(mark) else { return false }
            position += 1
            skipBlanks()
            return true
        }

        /// Returns the duration of a number of milliseconds in decimal; `nil` if the text is none, or beyond the range of durations.
        private static func duration(_ text: String) -> Duration? {
            let marks = "0123456789+-.eE".utf8
            guard text.utf8.allSatisfy({ marks.contains($0) }), let number = Double(text), abs(number) < 1e15 else {
                return nil
            }
            return .milliseconds(number)
        }
    }
}

extension ResponseHead {
    /// The metrics that the server reports in the fields `Server-Timing` of the head, in their order.
    public var serverTimings: [ServerTiming] { headers.serverTimings }
}

extension Response {
    /// The metrics that the server reports in the fields `Server-Timing` of the head and of the ``trailers``, in their order.
    public var serverTimings: [ServerTiming] { head.serverTimings + trailers.serverTimings }
}

/// The parts of a response that may have the field `Server-Timing`. They are the server's and no measurements, so that they make no
/// difference between two values of ``Metrics``.
struct ServerTimingFields: Sendable, Hashable {
    /// The head; `nil` if none was received.
    var head: ResponseHead?
    /// The trailers, if any.
    var trailers: HTTPFields?

    /// The metrics of the head and of the trailers, in their order.
    var timings: [ServerTiming] { (head?.serverTimings ?? []) + (trailers?.serverTimings ?? []) }

    static func == (one: ServerTimingFields, other: ServerTimingFields) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}

extension HTTPFields {
    /// The metrics in the fields `Server-Timing`.
    fileprivate var serverTimings: [ServerTiming] {
        guard let name = HTTPField.Name("Server-Timing") else { return [] }
        return self[values: name].flatMap(ServerTiming.metrics)
    }
}
