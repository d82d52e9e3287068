import FoundationEssentials

@testable import TrellisCore

/// The texts of single values, and the name of an empty array.
extension FormModel {
    var nilText: String? {
        switch encoder.nilEncoding {
        case .dropKey: nil
        case .dropValue: ""
        case .null: "null"
        case .custom(let text): text()
        }
    }

    func text(of value: FormValue) -> String {
        switch value {
        case .bool(let value): encoder.boolEncoding == .literal ? "\(value)" : value ? "1" : "0"
        case .integer(let value): "\(value)"
        case .wide(let value): "\(value)"
        case .double(let value): value.description
        case .float(let value): value.description
        case .decimal(let value): "\(value)"
        case .text(let value): value
        case .url(let value): value.absoluteString
        default: preconditionFailure("no single value")
        }
    }

    /// Returns the text of data; `nil` if the data is encoded as an array.
    func text(of data: Data) throws -> String? {
        switch encoder.dataEncoding {
        case .base64: Self.base64(data)
        case .deferredToData: nil
        case .custom(let text): try text(data)
        }
    }

    /// Returns the text of a date; `nil` if the date is encoded as a number.
    func text(of date: Date) throws -> String? {
        switch encoder.dateEncoding {
        case .deferredToDate: nil
        case .secondsSince1970: date.timeIntervalSince1970.description
        case .millisecondsSince1970: (date.timeIntervalSince1970 * 1000).description
        case .iso8601: try Self.timestamp(date, withFraction: false)
        case .iso8601WithFractionalSeconds: try Self.timestamp(date, withFraction: true)
        case .custom(let text): try text(date)
        }
    }

    func emptyArrayName(_ name: String) -> String? {
        guard encoder.emptyArrayEncoding == .bareBrackets else { return nil }
        switch encoder.arrayEncoding {
        case .brackets, .indexInBrackets: return name + "[]"
        case .noBrackets, .custom: return nil
        }
    }

    private static func base64(_ data: Data) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let bits = data.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        let text = stride(from: 0, to: bits.count, by: 6).map { start in
            digits[(0..<6).reduce(0) { $0 << 1 | (start + $1 < bits.count ? Int(bits[start + $1]) : 0) }]
        }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }

    /// Returns the date in the format of RFC 3339, computed day by day from one year to the next; the year has four digits.
    private static func timestamp(_ date: Date, withFraction: Bool) throws -> String {
        let time = date.timeIntervalSince1970
        guard abs(time) < 1e12 else { throw Impossible() }
        let (whole, fraction) = (time.rounded(.down), time - time.rounded(.down))
        let seconds = Int(whole)
        let second = ((seconds % 86400) + 86400) % 86400
        // 400 years have 146097 days.
        let days = (seconds - second) / 86400
        let era = Int((Double(days) / 146_097).rounded(.down))
        var (day, year, month) = (days - era * 146_097, 1970 + 400 * era, 1)
        while day >= length(ofYear: year) {
            day -= length(ofYear: year)
            year += 1
        }
        while day >= length(ofMonth: month, in: year) {
            day -= length(ofMonth: month, in: year)
            month += 1
        }
        guard 0...9999 ~= year else { throw Impossible() }
        let fields = [(year, 4), (month, 2), (day + 1, 2), (second / 3600, 2), (second / 60 % 60, 2), (second % 60, 2)]
        let texts = fields.map { padded($0, $1) }
        let milliseconds = withFraction ? "." + padded(Int(fraction * 1000), 3) : ""
        return "\(texts[0])-\(texts[1])-\(texts[2])T\(texts[3]):\(texts[4]):\(texts[5])\(milliseconds)Z"
    }

    private static func length(ofYear year: Int) -> Int { length(ofMonth: 2, in: year) + 337 }

    private static func length(ofMonth month: Int, in year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
