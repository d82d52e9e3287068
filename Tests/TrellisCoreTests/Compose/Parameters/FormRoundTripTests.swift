import Foundation
import Testing
import TrellisTesting

@testable import TrellisCore

/// An encoded form is read back by an independent parser.
struct FormRoundTripTests {
    /// A value of any shape that a form can hold.
    indirect enum Value: Encodable, Hashable, CustomStringConvertible {
        case text(String)
        case array([Value])
        case object([String: Value])

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .text(let text): try text.encode(to: encoder)
            case .array(let array): try array.encode(to: encoder)
            case .object(let object): try object.encode(to: encoder)
            }
        }

        var description: String {
            switch self {
            case .text(let text): "\(text.debugDescription)"
            case .array(let array): "\(array)"
            case .object(let object): "\(object)"
            }
        }

        /// The value without the objects that have no members, which no form can hold.
        var pruned: Value? {
            switch self {
            case .text: return self
            case .array(let array):
                let elements = array.compactMap(\.pruned)
                return array.isEmpty || !elements.isEmpty ? .array(elements) : nil
            case .object(let object):
                let members = object.compactMapValues(\.pruned)
                return members.isEmpty ? nil : .object(members)
            }
        }
    }

    /// A generator of random values, with the special characters of forms among the characters.
    struct Maker {
        var generator: SeededGenerator
        let isKeySafe: (Character) -> Bool

        private static let characters = Array("ab z09&=+%#?/;[].~*'\"<>\\\n\r\t\0\u{7f}é€😀\u{301}\u{2028}")

        mutating func text(forKey: Bool) -> String {
            let count = Int.random(in: (forKey ? 1 : 0)...6, using: &generator)
            var text = ""
            while text.count < count {
                let character = Self.characters.randomElement(using: &generator) ?? "a"
                if !forKey || isKeySafe(character) { text.append(character) }
                if forKey, text.isEmpty { text = "k" }
            }
            return text
        }

        mutating func value(depth: Int) -> Value {
            switch depth == 0 ? 0 : Int.random(in: 0...3, using: &generator) {
            case 1: .array((0..<Int.random(in: 0...3, using: &generator)).map { _ in value(depth: depth - 1) })
            case 2: object(depth: depth - 1)
            default: .text(text(forKey: false))
            }
        }

        mutating func object(depth: Int) -> Value {
            var members: [String: Value] = [:]
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                // A key that is a number would be read as an index.
                members["k" + text(forKey: true)] = value(depth: depth)
            }
            return .object(members)
        }
    }

    @Test(arguments: 0..<300)
    func nestedValuesComeBack(_ seed: Int) throws {
        var maker = Maker(generator: SeededGenerator(seed: UInt64(seed))) { !"[]".contains($0) }
        let value = maker.object(depth: 4)
        let space: URLEncodedFormEncoder.SpaceEncoding = seed.isMultiple(of: 2) ? .plusReplaced : .percentEscaped
        let encoder = URLEncodedFormEncoder(
            alphabetizeKeyValuePairs: seed.isMultiple(of: 3), arrayEncoding: .indexInBrackets, spaceEncoding: space,
            allowedCharacters: seed.isMultiple(of: 5) ? .html : .default)
        let text = try encoder.encode(value)
        let read = try FormParser.tree(text)
        // Elements without content leave gaps in the indices; the parser closes the gaps.
        #expect(read == value.pruned ?? .object([:]), "\(text)")
        #expect(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
    }

    @Test(arguments: 0..<100)
    func flatPairsComeBackWhateverTheirNames(_ seed: Int) throws {
        var maker = Maker(generator: SeededGenerator(seed: UInt64(seed) + 1000)) { _ in true }
        var pairs: [String: String] = [:]
        for _ in 0..<8 { pairs[maker.text(forKey: true)] = maker.text(forKey: false) }
        let read = FormParser.pairs(try URLEncodedFormEncoder().encode(pairs))
        #expect(Dictionary(read.map { ($0.name, $0.value) }) { _, last in last } == pairs.mapValues { $0 as String? })
        #expect(read.count == pairs.count)
        #expect(read.map(\.name) == pairs.keys.sorted())
    }

    @Test(arguments: 0..<50)
    func arraysComeBackInOrder(_ seed: Int) throws {
        var maker = Maker(generator: SeededGenerator(seed: UInt64(seed) + 2000)) { _ in true }
        let array = (0..<20).map { _ in maker.text(forKey: false) }
        for encoding in [URLEncodedFormEncoder.ArrayEncoding.brackets, .noBrackets] {
            let read = FormParser.pairs(try URLEncodedFormEncoder(arrayEncoding: encoding).encode(["a": array]))
            #expect(read.map(\.value) == array)
        }
    }
}

/// A parser of forms: pairs as in the WHATWG URL standard (section 5.1), names in brackets as in `qs` and Rails.
enum FormParser {
    struct Malformed: Error { let name: String }

    static func pairs(_ text: String) -> [(name: String, value: String?)] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(decode)
            return (parts[0], parts.count == 2 ? parts[1] : nil)
        }
    }

    private static func decode(_ text: Substring) -> String {
        String(text).replacing("+", with: "%20").removingPercentEncoding ?? "malformed"
    }

    private final class Node {
        var text: String?
        var isEmptyArray = false
        var members: [String: Node] = [:]

        func value() -> FormRoundTripTests.Value {
            if let text { return .text(text) }
            if isEmptyArray { return .array([]) }
            let indices = members.keys.compactMap { Int($0) }.sorted()
            if !members.isEmpty, indices.count == members.count {
                return .array(indices.compactMap { members["\($0)"]?.value() })
            }
            return .object(members.mapValues { $0.value() })
        }
    }

    static func tree(_ text: String) throws -> FormRoundTripTests.Value {
        let root = Node()
        for (name, value) in pairs(text) {
            let steps = try steps(name)
            var node = root
            for step in steps where !step.isEmpty {
                let next = node.members[step] ?? Node()
                node.members[step] = next
                node = next
            }
            guard node.text == nil, node.members.isEmpty else { throw Malformed(name: name) }
            if let value { node.text = value } else { node.isEmptyArray = steps.last == "" }
        }
        return root.value()
    }

    /// Returns the steps of a name: `a[b][0]` is `a`, `b`, `0`.
    private static func steps(_ name: String) throws -> [String] {
        let scalars = Array(name.unicodeScalars)
        let head = scalars.prefix { $0 != "[" }
        var steps = [string(head)]
        var rest = scalars.dropFirst(head.count)
        while rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { throw Malformed(name: name) }
            steps.append(string(rest[rest.index(after: rest.startIndex)..<end]))
            rest = rest[(end + 1)...]
        }
        guard rest.isEmpty else { throw Malformed(name: name) }
        return steps
    }

    private static func string(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        return text
    }
}
