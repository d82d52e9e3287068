#if Configuration
import TrellisCore

extension SessionSetting {
    private static let versions = HTTPVersionPolicy.allCases.map { ("\($0)", $0) }

    /// The settings of requests and their time limits.
    static let general: [SessionSetting] = [
        text("baseURL", "The URL against which relative URLs are resolved", isSecret: true) {
            guard let url = URL(string: $1), url.scheme?.isHTTPScheme == true,
                url.host()?.isEmpty == false
            else { throw SettingProblem("it is not an absolute URL with http or https and a host") }
            $0.configuration.baseURL = $1
        },
        texts("headers", "The fields of requests without fields of these names, as `Name: value`", isSecret: true) {
            $0.configuration.defaultHeaders = try fields($1)
        },
        texts("queryItems", "The query items of URLs without items of these names, as `name=value`", isSecret: true) {
            $0.configuration.defaultQueryItems = try queryItems($1)
        },
        text("userAgent", default: "the program and Trellis", "The field `User-Agent`; none if empty") {
            $0.configuration.userAgent = try $1.isEmpty ? nil : fieldValue($1)
        },
        text("accept", default: "*/*", "The field `Accept`; none if empty") {
            $0.configuration.accept = try $1.isEmpty ? nil : fieldValue($1)
        },
        text("acceptLanguage", default: "the language of the process", "The field `Accept-Language`; none if empty") {
            $0.configuration.acceptLanguage = try $1.isEmpty ? nil : fieldValue($1)
        },
        choice(
            "httpVersion", of: versions, default: "automatic",
            "The versions of HTTP that may be used"
        ) { $0.configuration.httpVersion = $1 },
        flag("decodesContent", default: "true", "Whether compressed bodies are requested and decoded") {
            $0.configuration.decodesContent = $1
        },
        count(
            "maximumBodySize", unit: "bytes", default: "67108864", from: 0, or: "unlimited",
            "The limit on a body that is collected in memory"
        ) { $0.configuration.maximumBodySize = $1.map(ByteLimit.bytes) ?? .unlimited },
        count("maximumHeaderSize", unit: "bytes", default: "65536", "The limit on the head of a response") {
            if let size = $1 { $0.configuration.maximumHeaderSize = size }
        },
        seconds("timeouts.connect", default: "10", none: "none", "The time for a connection to be ready") {
            $0.configuration.timeouts.connect = $1
        },
        seconds("timeouts.responseHead", default: "60", none: "none", "The time from the request to the head") {
            $0.configuration.timeouts.responseHead = $1
        },
        seconds("timeouts.idle", default: "60", none: "none", "The time without a byte in either direction") {
            $0.configuration.timeouts.idle = $1
        },
        seconds(
            "timeouts.total", default: "300 for bodies in memory", none: "none",
            "The time from the call to the last byte"
        ) { $0.configuration.timeouts.total = $1 },
    ]

    /// Returns the fields of lines. The errors do not have the lines, which may be secrets.
    private static func fields(_ lines: [String]) throws -> HTTPFields {
        var fields = HTTPFields()
        for (index, line) in lines.enumerated() {
            guard let (name, value) = halves(of: line, at: ":"), let name = HTTPField.Name(name) else {
                throw SettingProblem("element \(index + 1) is not of the form 'Name: value'")
            }
            let text = Substring(value.utf8.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
            fields.append(HTTPField(name: name, value: try fieldValue(String(text))))
        }
        return fields
    }

    private static func fieldValue(_ value: String) throws -> String {
        guard HTTPField.isValidValue(value) else { throw SettingProblem("it has bytes that no field may have") }
        return value
    }

    private static func queryItems(_ texts: [String]) throws -> [URLQueryItem] {
        try texts.enumerated().map { index, text in
            guard let (name, value) = halves(of: text, at: "="), !name.isEmpty else {
                throw SettingProblem("element \(index + 1) is not of the form 'name=value'")
            }
            return URLQueryItem(name: name, value: value)
        }
    }

    /// Returns the texts before and after the first mark, which is an ASCII character; `nil` if there is none.
    private static func halves(of text: String, at mark: Unicode.Scalar) -> (String, String)? {
        guard let index = text.utf8.firstIndex(of: UInt8(ascii: mark)) else { return nil }
        return (String(text[..<index]), String(text[text.utf8.index(after: index)...]))
    }
}
#endif
