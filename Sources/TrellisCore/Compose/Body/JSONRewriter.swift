import CurlEngine
import FoundationEssentials

/// A pass over JSON text that replaces some of its values and leaves all other bytes as they are, their order and their blanks included.
///
/// The text may have several values in a row, as newline-delimited JSON has. Nesting costs memory on the heap alone.
package struct JSONRewriter {
    /// A step on the way from the outermost value to a value within it.
    package enum Component: Hashable, Sendable {
        case key(String)
        case index(Int)
    }

    /// The kinds of values.
    package enum Kind: Hashable, Sendable {
        case object, array, string, number
        /// `true`, `false` or `null`.
        case literal

        /// Creates the kind of the value that begins with a byte; `nil` if no value begins so.
        fileprivate init?(_ byte: UInt8) {
            switch byte {
            case UInt8(ascii: "{"): self = .object
            case UInt8(ascii: "["): self = .array
            case UInt8(ascii: "\""): self = .string
            case UInt8(ascii: "a")...UInt8(ascii: "z"): self = .literal
            case _ where byte.isJSONScalar: self = .number
            default: return nil
            }
        }

        fileprivate var closing: UInt8 { self == .object ? UInt8(ascii: "}") : UInt8(ascii: "]") }
    }

    /// Returns the JSON that takes the place of a value; `nil` if the value stays, and the values within it are asked for.
    package typealias Replacement = (_ path: [Component], _ kind: Kind) -> String?

    /// Returns whether the name of a member marks its value, and all values within it.
    package typealias Mark = (_ name: String) -> Bool

    /// The names that mark strings, and those that mark numbers.
    private struct Marks {
        var strings: Mark = { _ in false }
        var numbers: Mark = { _ in false }
    }

    private typealias MarkedReplacement = (_ path: [Component], _ kind: Kind, _ isMarked: Bool) -> String?

    private enum Expectation { case value, member, element, separator }

    private let bytes: [UInt8]
    private var position = 0
    /// The end of the bytes that are in the output.
    private var copied = 0
    private var output: [UInt8] = []
    private var path: [Component] = []
    /// The place on the path of the outermost name that marks strings; `nil` if no name does.
    private var markedPlace: Int?
    /// The place on the path of the outermost name that marks numbers; `nil` if no name does.
    private var markedNumberPlace: Int?
    private var frames: [Kind] = []

    private init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns a text with some of its values replaced.
    ///
    /// - Returns: The text, and whether all of it is JSON. Text that is not ends in front of its first byte that is no JSON.
    package static func rewritten(
        _ text: String, replacing replacement: Replacement
    ) -> (text: String, isComplete: Bool) {
        var rewriter = JSONRewriter(text)
        let isComplete = rewriter.run(Marks()) { path, kind, _ in replacement(path, kind) }
        rewriter.copy(upTo: rewriter.position)
        return (String(decoding: rewriter.output, as: UTF8.self), isComplete)
    }

    /// Returns a text with another string under each name that marks strings, and `0` for each number under a name that marks numbers. It
    /// can be decoded as before.
    ///
    /// - Returns: The text, and whether all of it is JSON. Text that is not ends in front of its first byte that is no JSON.
    package static func rewritten(
        _ text: String, replacingStringsWith replacement: String, where isMark: @escaping Mark,
        numbersWhere isNumberMark: @escaping Mark = { _ in false }
    ) -> (text: String, isComplete: Bool) {
        var rewriter = JSONRewriter(text)
        let isComplete = rewriter.run(strings: isMark, numbers: isNumberMark, replacement)
        rewriter.copy(upTo: rewriter.position)
        return (String(decoding: rewriter.output, as: UTF8.self), isComplete)
    }

    private mutating func run(
        strings isMark: @escaping Mark, numbers isNumberMark: @escaping Mark, _ replacement: String
    ) -> Bool {
        run(Marks(strings: isMark, numbers: isNumberMark)) { _, kind, isMarked in
            guard isMarked else { return nil }
            return switch kind {
            case .string: replacement
            case .number: "0"
            case .object, .array, .literal: nil
            }
        }
    }

    /// Returns a text with some of its values replaced, as far as it is JSON. The rest of a text that is not stays as it is, unless it has
    /// names of values: then there is an ellipsis in its place.
    package static func rewrittenAsFarAsPossible(_ text: String, replacing replacement: Replacement) -> String {
        var rewriter = JSONRewriter(text)
        let isComplete = rewriter.run(Marks()) { path, kind, _ in replacement(path, kind) }
        return rewriter.textAsFarAsPossible(isComplete)
    }

    /// Returns a text with another string under each name that marks strings, and `0` for each number under a name that marks numbers, as
    /// far as the text is JSON. The rest is as in ``rewrittenAsFarAsPossible(_:replacing:)``.
    package static func rewrittenAsFarAsPossible(
        _ text: String, replacingStringsWith replacement: String, where isMark: @escaping Mark,
        numbersWhere isNumberMark: @escaping Mark = { _ in false }
    ) -> String {
        var rewriter = JSONRewriter(text)
        let isComplete = rewriter.run(strings: isMark, numbers: isNumberMark, replacement)
        return rewriter.textAsFarAsPossible(isComplete)
    }

    private mutating func textAsFarAsPossible(_ isComplete: Bool) -> String {
        let mayStay = isComplete || !restHasNames
        copy(upTo: mayStay ? bytes.count : position)
        return String(decoding: output, as: UTF8.self) + (mayStay ? "" : "…")
    }

    /// Whether a quotation mark is followed by a colon in the part that is not JSON.
    private var restHasNames: Bool {
        let rest = bytes[min(position, bytes.count)...]
        return rest.indices.contains { index in
            guard rest[index] == UInt8(ascii: "\"") else { return false }
            let next = bytes.span.endOfJSONBlanks(from: index + 1)
            return next < bytes.count && bytes[next] == UInt8(ascii: ":")
        }
    }

    private mutating func run(_ marks: Marks, _ replacement: MarkedReplacement) -> Bool {
        var next = Expectation.value
        while true {
            position = bytes.span.endOfJSONBlanks(from: position)
            guard position < bytes.count else { return frames.isEmpty }
            let byte = bytes[position]
            switch next {
            case .member where byte == Kind.object.closing, .element where byte == Kind.array.closing:
                leave()
                next = .separator
            case .member:
                guard takeKey(marks) else { return false }
                next = .value
            case .element:
                path.append(.index(0))
                next = .value
            case .value:
                guard let kind = Kind(byte), let following = take(kind, replacement) else { return false }
                next = following
            case .separator:
                guard let frame = frames.last else {
                    next = .value
                    continue
                }
                guard let following = takeSeparator(byte, frame) else { return false }
                next = following
            }
        }
    }

    /// Takes a value, or only its beginning if it holds others; returns `nil` if it has no end.
    private mutating func take(_ kind: Kind, _ replacement: MarkedReplacement) -> Expectation? {
        if let text = replacement(path, kind, (kind == .number ? markedNumberPlace : markedPlace) != nil) {
            copy(upTo: position)
            output += text.utf8
            position = bytes.span.endOfJSONValue(from: position) ?? bytes.count
            copied = position
            return position < bytes.count || frames.isEmpty ? .separator : nil
        }
        switch kind {
        case .object, .array:
            position += 1
            frames.append(kind)
            return kind == .object ? .member : .element
        case .string, .number, .literal:
            guard let end = bytes.span.endOfJSONValue(from: position), kind != .literal || isLiteral(upTo: end)
            else { return nil }
            position = end
            return .separator
        }
    }

    /// Returns whether the bytes from the position to an end are `true`, `false` or `null` (RFC 8259, section 3).
    private func isLiteral(upTo end: Int) -> Bool {
        ["true", "false", "null"].contains { $0.utf8.elementsEqual(bytes[position..<end]) }
    }

    /// Takes the name of a member and the colon after it; returns `false` if the text has something else.
    private mutating func takeKey(_ marks: Marks) -> Bool {
        guard let end = bytes.span.endOfJSONString(from: position) else { return false }
        let key = bytes.span.jsonString(position..<end)
        let colon = bytes.span.endOfJSONBlanks(from: end)
        guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { return false }
        if markedPlace == nil, marks.strings(key) { markedPlace = path.count }
        if markedNumberPlace == nil, marks.numbers(key) { markedNumberPlace = path.count }
        path.append(.key(key))
        position = colon + 1
        return true
    }

    /// Takes a comma, or the end of an object or array; returns `nil` if the text has something else.
    private mutating func takeSeparator(_ byte: UInt8, _ frame: Kind) -> Expectation? {
        let last = path.popLast()
        if markedPlace == path.count { markedPlace = nil }
        if markedNumberPlace == path.count { markedNumberPlace = nil }
        if byte == frame.closing {
            leave()
            return .separator
        }
        guard byte == UInt8(ascii: ",") else { return nil }
        position += 1
        guard case .index(let index)? = last else { return .member }
        path.append(.index(index + 1))
        return .value
    }

    private mutating func leave() {
        position += 1
        frames.removeLast()
    }

    private mutating func copy(upTo end: Int) {
        if copied < end { output += bytes[copied..<end] }
        copied = max(copied, end)
    }
}

extension UInt8 {
    /// Whether a number, `true`, `false` or `null` may have the byte.
    fileprivate var isJSONScalar: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "E"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

/// The places of values in JSON text. Nothing but the structure is checked.
extension Span<UInt8> {
    /// Returns the index of the first byte from `start` on that is no blank.
    package func endOfJSONBlanks(from start: Int) -> Int {
        var index = start
        while index < count {
            switch self[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return index
            }
        }
        return index
    }

    /// Returns the index after the string that begins at `start`; `nil` if none begins there, or if it has no end.
    package func endOfJSONString(from start: Int) -> Int? {
        guard start < count, self[start] == UInt8(ascii: "\"") else { return nil }
        var index = start + 1
        while true {
            index = offset(of: UInt8(ascii: "\""), from: index)
            guard index < count else { return nil }
            // A quotation mark after an odd number of backslashes belongs to the string.
            var backslashes = 0
            while index - backslashes > start + 1, self[index - backslashes - 1] == UInt8(ascii: "\\") {
                backslashes += 1
            }
            index += 1
            if backslashes.isMultiple(of: 2) { return index }
        }
    }

    /// Returns the index after the value that begins at `start`; `nil` if none begins there, or if it has no end.
    package func endOfJSONValue(from start: Int) -> Int? {
        guard start < count else { return nil }
        switch self[start] {
        case UInt8(ascii: "\""): return endOfJSONString(from: start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return endOfJSONContainer(from: start)
        default:
            var index = start
            while index < count, self[index].isJSONScalar { index += 1 }
            return index > start ? index : nil
        }
    }

    private func endOfJSONContainer(from start: Int) -> Int? {
        var (index, depth) = (start, 0)
        while index < count {
            switch self[index] {
            case UInt8(ascii: "\""):
                guard let end = endOfJSONString(from: index) else { return nil }
                index = end
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return index + 1 }
            default: break
            }
            index += 1
        }
        return nil
    }

    /// Returns the text of a string with its quotation marks, without them and without escapes.
    package func jsonString(_ range: Range<Int>) -> String {
        let bytes = extracting(range)
        if bytes.offset(of: UInt8(ascii: "\\")) < bytes.count, let text = unescapedJSONString(range) { return text }
        return String(utf8: extracting(range.lowerBound + 1..<max(range.lowerBound + 1, range.upperBound - 1)))
    }

    /// Returns the text of a string with its quotation marks, without them and without escapes; `nil` if it is not well formed.
    func unescapedJSONString(_ range: Range<Int>) -> String? {
        try? JSONDecoder().decode(String.self, from: Data(copying: extracting(range)))
    }
}
