import CurlEngine

/// A `Set-Cookie` field without the cookie's value. Servers that set a new value in each response repeat all the rest.
struct CookieTemplate {
    private let field: [UInt8]
    /// The position after the name and its equals sign.
    private let valueStart: Int
    /// The position of the first semicolon, or the end.
    private let valueEnd: Int

    /// Creates a template from a field; `nil` if the field has no name, or a value that is not plain.
    init?(_ field: [UInt8]) {
        guard let sign = field.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }), sign > 0,
            field[sign] == UInt8(ascii: "="), let end = Self.plainEnd(of: field.span, from: sign + 1)
        else { return nil }
        self.field = field
        valueStart = sign + 1
        valueEnd = end
    }

    /// Returns the value of a field that equals this one except for its value; `nil` if there is another difference, or if the value is not
    /// plain.
    func value(in other: [UInt8]) -> String? {
        let (old, new) = (field.span, other.span)
        guard new.count > valueStart, let end = Self.plainEnd(of: new, from: valueStart),
            new.count - end == old.count - valueEnd, end <= Cookie.maximumSize,
            new.extracting(..<valueStart).hasSameBytes(as: old.extracting(..<valueStart)),
            new.extracting(end...).hasSameBytes(as: old.extracting(valueEnd...))
        else { return nil }
        guard let text = try? UTF8Span(validating: new.extracting(valueStart..<end)) else { return nil }
        return String(copying: text)
    }

    /// Returns the end of a value that consists of visible ASCII characters alone, which the parser takes as they are; `nil` if there is
    /// another character.
    private static func plainEnd(of field: Span<UInt8>, from start: Int) -> Int? {
        let end = field.offset(of: UInt8(ascii: ";"), from: start)
        return field.extracting(start..<end).isVisibleASCII ? end : nil
    }
}
