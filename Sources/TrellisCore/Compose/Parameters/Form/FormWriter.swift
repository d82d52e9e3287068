/// A writer that turns a tree of nodes into the names and values of a form.
struct FormWriter {
    /// A member of an object: the key as written, the original key, and the value.
    private struct Member {
        let written: String
        let key: String
        let value: FormNode

        /// Compares the written keys by Unicode scalars, which is the order of their UTF-8 bytes; `String` would compare composed
        /// characters. Equal written keys are compared by their original keys, because the order of a dictionary changes with
        /// every process.
        static func < (one: Member, other: Member) -> Bool {
            if one.written.utf8.elementsEqual(other.written.utf8) {
                return one.key.utf8.lexicographicallyPrecedes(other.key.utf8)
            }
            return one.written.utf8.lexicographicallyPrecedes(other.written.utf8)
        }
    }

    private let options: URLEncodedFormEncoder
    private var bytes: [UInt8] = []

    init(_ options: URLEncodedFormEncoder) { self.options = options }

    /// The text written so far, in ASCII.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes a node under a name; `nil` if the node is the top-level object. The encoder that made the node has limited the depth.
    mutating func write(_ node: FormNode, name: String? = nil) {
        switch node.kind {
        case .unset: break
        case .null: if let text = options.nilEncoding.text { append(name, text) }
        case .text: append(name, node.text)
        case .array: writeElements(of: node, name ?? "")
        case .object: writeMembers(of: node, name)
        }
    }

    private mutating func writeElements(of array: FormNode, _ name: String) {
        if array.children.isEmpty { return writeEmptyArray(name) }
        for (index, element) in array.children.enumerated() {
            write(element, name: options.arrayEncoding.name(name, index))
        }
    }

    private mutating func writeEmptyArray(_ name: String) {
        guard options.emptyArrayEncoding == .bareBrackets else { return }
        switch options.arrayEncoding {
        case .brackets, .indexInBrackets: append("\(name)[]", nil)
        case .noBrackets, .custom: break
        }
    }

    private mutating func writeMembers(of object: FormNode, _ name: String?) {
        var members = zip(object.keys, object.children).map {
            Member(written: options.keyEncoding.encode($0), key: $0, value: $1)
        }
        if options.alphabetizeKeyValuePairs { members.sort(by: <) }
        for member in members {
            let key = member.written
            write(member.value, name: name.map { $0 + options.keyPathEncoding.suffix(key) } ?? key)
        }
    }

    private mutating func append(_ name: String?, _ value: String?) {
        guard let name else { return }
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        encode(name)
        guard let value else { return }
        bytes.append(UInt8(ascii: "="))
        encode(value)
    }

    private mutating func encode(_ text: String) {
        options.allowedCharacters.encode(text, space: options.spaceEncoding, into: &bytes)
    }
}
