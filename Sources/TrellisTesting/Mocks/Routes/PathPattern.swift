import CurlEngine

/// A pattern of paths, whose variables are names in braces, as in the templates of RFC 6570: `/users/{id}`.
///
/// A variable stands for one or more bytes of a segment, and may have text around it (`/{name}.json`). `{+path}`, alone in the last
/// segment, stands for all remaining segments. Percent-encoded bytes equal the bytes that they stand for, and a brace without its partner
/// is text.
struct PathPattern: Sendable {
    private enum Piece: Sendable {
        case text([UInt8])
        case variable(String)
    }

    private enum Segment: Sendable {
        case text([UInt8])
        case pieces([Piece])
        case rest(String)
    }

    /// The pattern as it was given.
    let text: String
    private let segments: [Segment]
    /// The only path that the pattern matches, if no byte of it is encoded; `nil` if the pattern has variables or encoded bytes.
    private let onlyPath: String?

    init(_ text: String) {
        self.text = text
        let parts = Self.split(text)
        segments = parts.enumerated().map { index, part in Self.segment(part, isLast: index == parts.count - 1) }
        let isPlain = text.hasBytePrefix("/") && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"{}%".utf8.contains($0) }
        onlyPath = isPlain ? text : nil
    }

    /// Returns the segments of a path, still encoded. An empty path is the root's.
    private static func split(_ path: String) -> [ArraySlice<UInt8>] {
        let bytes = Array(path.utf8)
        let first = bytes.first == UInt8(ascii: "/") ? 1 : 0
        return bytes[first...].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }

    /// Returns the segments of a path, decoded.
    static func segments(of path: String) -> [[UInt8]] { split(path).map { URLBytes.decoded($0) } }

    private static func segment(_ bytes: ArraySlice<UInt8>, isLast: Bool) -> Segment {
        let pieces = pieces(bytes)
        if pieces.count == 1, case .variable(let name) = pieces[0] {
            return isLast && name.hasBytePrefix("+") ? .rest(String(name.dropFirst())) : .pieces(pieces)
        }
        if pieces.isEmpty { return .text([]) }
        if pieces.count == 1, case .text(let text) = pieces[0] { return .text(text) }
        return .pieces(pieces)
    }

    private static func pieces(_ bytes: ArraySlice<UInt8>) -> [Piece] {
        var (pieces, text, rest): ([Piece], ArraySlice<UInt8>, ArraySlice<UInt8>) = ([], [], bytes)
        while let byte = rest.first {
            guard byte == UInt8(ascii: "{"), let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                text.append(byte)
                rest = rest.dropFirst()
                continue
            }
            if !text.isEmpty { pieces.append(.text(URLBytes.decoded(text))) }
            text = []
            pieces.append(.variable(String(decoding: rest[..<end].dropFirst(), as: UTF8.self)))
            rest = rest[end...].dropFirst()
        }
        if !text.isEmpty { pieces.append(.text(URLBytes.decoded(text))) }
        return pieces
    }

    /// Returns the values of the variables, decoded; `nil` if the path does not match.
    func match(_ request: RoutedRequest) -> [String: String]? {
        if let onlyPath {
            if onlyPath.hasSameBytes(as: request.path) { return [:] }
            guard request.path.utf8.contains(UInt8(ascii: "%")) else { return nil }
        }
        var values: [String: String] = [:]
        let theirs = request.segments
        for (index, segment) in segments.enumerated() {
            guard index < theirs.count else { return nil }
            switch segment {
            case .text(let text): if theirs[index] != text { return nil }
            case .pieces(let pieces): if !Self.match(theirs[index][...], pieces[...], values: &values) { return nil }
            case .rest(let name):
                values[name] = Self.text(Array(theirs[index...].joined(separator: [UInt8(ascii: "/")])))
                return values
            }
        }
        return theirs.count == segments.count ? values : nil
    }

    /// The number of segments where a path differs from the pattern.
    func distance(to request: RoutedRequest) -> Int {
        let theirs = request.segments
        var values: [String: String] = [:]
        var count = 0
        for (index, segment) in segments.enumerated() {
            let bytes = index < theirs.count ? theirs[index] : nil
            switch segment {
            case .text(let text): if bytes != text { count += 1 }
            case .pieces(let pieces):
                if bytes.map({ Self.match($0[...], pieces[...], values: &values) }) != true { count += 1 }
            case .rest: return count + (bytes == nil ? 1 : 0)
            }
        }
        return count + max(0, theirs.count - segments.count)
    }

    /// Matches the bytes of a segment. A variable takes as few bytes as possible.
    private static func match(
        _ bytes: ArraySlice<UInt8>, _ pieces: ArraySlice<Piece>, values: inout [String: String]
    ) -> Bool {
        guard let piece = pieces.first else { return bytes.isEmpty }
        let others = pieces.dropFirst()
        switch piece {
        case .text(let text):
            return bytes.starts(with: text) && match(bytes.dropFirst(text.count), others, values: &values)
        case .variable(let name):
            guard !bytes.isEmpty else { return false }
            if others.isEmpty {
                values[name] = text(Array(bytes))
                return true
            }
            for end in bytes.indices.dropFirst() where match(bytes[end...], others, values: &values) {
                values[name] = text(Array(bytes[..<end]))
                return true
            }
            return false
        }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

/// The decoding of the bytes of URLs and forms.
enum URLBytes {
    /// Returns bytes with the percent-encoded ones decoded (RFC 3986, section 2.1); malformed escapes stay as they are.
    ///
    /// - Parameter isForm: Whether a plus sign stands for a blank, as in forms and queries.
    static func decoded(_ bytes: ArraySlice<UInt8>, isForm: Bool = false) -> [UInt8] {
        guard bytes.contains(where: { $0 == UInt8(ascii: "%") || isForm && $0 == UInt8(ascii: "+") }) else {
            return Array(bytes)
        }
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = digit(rest.first), let low = digit(rest.dropFirst().first) {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(isForm && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return result
    }

    private static func digit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case (0x30...0x39)?: byte.map { $0 - 0x30 }
        case (0x41...0x46)?: byte.map { $0 - 0x37 }
        case (0x61...0x66)?: byte.map { $0 - 0x57 }
        default: nil
        }
    }

    /// Returns the items of a query or of a URL-encoded form, decoded.
    static func items(_ text: String) -> [URLItem] {
        Array(text.utf8).split(separator: UInt8(ascii: "&")).map { item in
            let mark = item.firstIndex(of: UInt8(ascii: "="))
            let value = mark.map { item[$0...].dropFirst() } ?? []
            return URLItem(
                name: String(decoding: decoded(item[..<(mark ?? item.endIndex)], isForm: true), as: UTF8.self),
                value: String(decoding: decoded(value, isForm: true), as: UTF8.self))
        }
    }
}

/// An item of a query or of a form.
struct URLItem: Sendable {
    let name: String
    let value: String

    /// Returns whether name and value have the same bytes.
    func isSame(as other: URLItem) -> Bool {
        name.hasSameBytes(as: other.name) && value.hasSameBytes(as: other.value)
    }

    /// The item in words, without the value of a secret.
    var description: String { "\(name)=\(shownValue)" }

    /// The value, unless the name indicates that it is a secret.
    var shownValue: String { RouteMismatch.shown(value, named: name) }
}
