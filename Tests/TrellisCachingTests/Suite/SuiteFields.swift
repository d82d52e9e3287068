import HTTPTypes

@testable import TrellisCaching
@testable import TrellisCore

/// Fields from the lines of cases.
enum SuiteFields {
    /// Returns the fields of lines at a time.
    static func fields(_ lines: [String], at seconds: Double) -> HTTPFields {
        HTTPFields(lines.compactMap { field($0, at: seconds) })
    }

    /// Returns the field of a line; `nil` if its name or its value is not valid.
    static func field(_ line: String, at seconds: Double) -> HTTPField? {
        guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
            return nil
        }
        let value = expanded(line[line.index(after: colon)...].drop { $0 == " " }, at: seconds)
        // A character is a byte, as the servers and the clients of the suite send it.
        let bytes = value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        guard HTTPField.isValidValue(bytes) else { return nil }
        return HTTPField(name: name, value: bytes)
    }

    /// Returns the values of a field's lines as one; `nil` without a line.
    static func value(_ name: HTTPField.Name, in fields: HTTPFields) -> String? {
        let values = fields[values: name]
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    private static func expanded(_ value: Substring, at seconds: Double) -> String {
        var result = ""
        var rest = value
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            result += rest[..<open]
            result += text(rest[rest.index(after: open)..<close], at: seconds)
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    private static func text(_ placeholder: Substring, at seconds: Double) -> String {
        if placeholder == "url" { return SuiteWorld.url }
        let isOld = placeholder.hasPrefix("850:")
        let offset = Int64(isOld ? placeholder.dropFirst(4) : placeholder) ?? 0
        let date = CacheSamples.date(Int64(seconds) + offset - CacheSamples.start.milliseconds / 1000)
        return isOld ? formOfRFC850(date) : date
    }

    /// Returns a date such as `Sun, 06 Nov 1994 08:49:37 GMT` in the form `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func formOfRFC850(_ date: String) -> String {
        let parts = date.split(separator: " ").map(String.init)
        let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
        guard parts.count == 6, let day = days.first(where: { $0.hasPrefix(parts[0].dropLast()) }) else { return date }
        return "\(day), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
    }
}
