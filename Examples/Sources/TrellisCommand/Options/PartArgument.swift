import ArgumentParser
import CURLSyntax

/// The argument of `--part`: `NAME=VALUE`, or `NAME=@FILE[;type=MIME][;filename=NAME]`.
struct PartArgument: Sendable {
    let name: String
    let content: BodyArgument
    /// The type of the file, if given.
    private(set) var type: String?
    /// The name of the file for the server, if given.
    private(set) var fileName: String?

    init(_ argument: String) throws {
        let typed = argument[...].after(Marker.typed)
        let literal = typed == nil ? argument[...].after(Marker.literal) : nil
        let pair = try NamedValue(String(typed ?? literal ?? argument[...]))
        name = pair.name
        guard literal == nil, typed != nil || pair.value.utf8.first == UInt8(ascii: "@") else {
            content = .text(pair.value)
            return
        }
        var rest = Substring(pair.value)
        // Read from the end, because a type has its own parameters: `text/plain;charset=utf-8`.
        while let (start, marker) = Self.lastMarker(in: rest) {
            let value = rest[start...].after(marker).map { String($0) } ?? ""
            // A marker that is given twice, or is empty, is an error.
            guard !value.isEmpty, (marker == Self.typeMarker ? type : fileName) == nil else {
                throw ValidationError("'\(marker.dropFirst())' has no value, or is given twice")
            }
            if marker == Self.typeMarker { type = value } else { fileName = value }
            rest = rest[..<start]
        }
        guard typed == nil else {
            content = .text(String(rest))
            return
        }
        guard rest.utf8.count > 1, let file = BodyArgument(argument: String(rest)) else {
            throw ValidationError("no file is named after the @")
        }
        content = file
    }

    private static let typeMarker = ";type="
    private static let fileNameMarker = ";filename="

    private static func lastMarker(in text: Substring) -> (start: Substring.Index, marker: String)? {
        var start = text.endIndex
        while start > text.startIndex {
            start = text.utf8.index(before: start)
            for marker in [typeMarker, fileNameMarker] where text.utf8[start...].starts(with: marker.utf8) {
                return (start, marker)
            }
        }
        return nil
    }
}
