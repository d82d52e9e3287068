import CurlEngine
import TrellisCore

/// A safe file name from a server's suggestion: one visible path component of bounded length.
struct FileName: Hashable, Sendable {
    /// The maximum length in bytes of UTF-8: with its prefix and suffix, the name of a partial file must fit into 255.
    static let limit = 200

    let text: String

    /// Creates the safe part of a name, such as the text after the last `/` or `\`; `nil` if nothing is left.
    init?(_ suggestion: String) {
        var scalars = suggestion.unicodeScalars[...]
        // A much longer name is not legitimate; only its end is looked at.
        if scalars.count > 16 << 10 { scalars = scalars.suffix(16 << 10) }
        if let separator = scalars.lastIndex(where: { $0 == "/" || $0 == "\\" }) {
            scalars = scalars[scalars.index(after: separator)...]
        }
        var harmless = scalars.filter(Self.isHarmless)[...]
        if harmless.count >= 2, harmless.dropFirst().first == ":", harmless.first?.isLetterOfADrive == true {
            harmless.removeFirst(2)
        }
        // Leading dots hide a file, or refer to the parent folder; trailing dots and spaces are lost on other systems.
        harmless = harmless.drop(while: Self.isDotOrSpace)
        while let last = harmless.last, Self.isDotOrSpace(last) { harmless.removeLast() }
        guard !harmless.isEmpty else { return nil }
        self.text = Self.shortened(String(String.UnicodeScalarView(harmless)))
    }

    /// Returns the name for the body of a response: from its `Content-Disposition`, or else from its URL.
    static func suggested(disposition: String?, url: String) -> FileName {
        if let name = disposition.flatMap({ ContentDisposition($0).fileName }).flatMap({ FileName($0) }) { return name }
        let path = URLReference(url).path
        let last = path.split(atByte: "/").last.map { String($0) } ?? ""
        return FileName(PercentEncoding.decode(last) ?? last) ?? FileName(whole: "download")
    }

    private init(whole text: String) { self.text = text }

    private static func isDotOrSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Controls, and characters that reverse the direction of writing, so that `gpj.exe` looks like `exe.jpg`.
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
        default: true
        }
    }

    /// Returns the name within the limit, with its extension kept.
    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > limit else { return text }
        let end = text.lastIndex(ofByte: ".").map { text[$0...] }.flatMap { $0.utf8.count <= 20 ? $0 : nil } ?? ""
        var room = limit - end.utf8.count
        let start = text.unicodeScalars.dropLast(end.unicodeScalars.count).prefix { scalar in
            room -= UTF8.width(scalar)
            return room >= 0
        }
        return String(start) + end
    }
}

extension Unicode.Scalar {
    fileprivate var isLetterOfADrive: Bool { ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
}
