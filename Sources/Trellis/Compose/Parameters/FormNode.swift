import CurlEngine

/// A value on its way into a form: what an encoder has written, before names are made of the keys.
final class FormNode {
    /// What has been written.
    enum Kind: Hashable { case unset, null, text, array, object }

    private(set) var kind = Kind.unset
    private(set) var text = ""
    /// The elements of an array, or the members of an object in the order of ``keys``.
    private(set) var children: [FormNode] = []
    /// The keys of an object in the order in which they were first written.
    private(set) var keys: [String] = []
    private var positions: [TextBytes: Int] = [:]

    /// Makes it an array or an object; `false` if it is something else already.
    func become(_ kind: Kind) -> Bool {
        if self.kind == .unset { self.kind = kind }
        return self.kind == kind
    }

    func set(_ text: String) {
        kind = .text
        self.text = text
    }

    func setNull() { kind = .null }

    /// Adds an element.
    func append() -> FormNode {
        let child = FormNode()
        children.append(child)
        return child
    }

    /// The member of a key: a new one, or the one that is there already if `reusing` is set.
    func member(_ key: String, reusing: Bool) -> FormNode {
        let bytes = TextBytes(key)
        if let position = positions[bytes] {
            if !reusing { children[position] = FormNode() }
            return children[position]
        }
        positions[bytes] = keys.count
        keys.append(key)
        return append()
    }
}
