import CurlEngine

/// A node of the tree that an encoder writes, before names are made from the keys.
final class FormNode {
    /// The kind of value that has been written.
    enum Kind: Hashable { case unset, null, text, array, object }

    private(set) var kind = Kind.unset
    /// The text of a node of kind ``Kind/text``.
    private(set) var text = ""
    /// The elements of an array, or the members of an object in the order of ``keys``.
    private(set) var children: [FormNode] = []
    /// The keys of an object in the order in which they were first written.
    private(set) var keys: [String] = []
    /// The index of each key in ``children``.
    private var positions: [TextBytes: Int] = [:]

    /// Turns the node into an array or an object. Returns `false` if the node already has another kind.
    func become(_ kind: Kind) -> Bool {
        if self.kind == .unset { self.kind = kind }
        return self.kind == kind
    }

    func set(_ text: String) {
        kind = .text
        self.text = text
    }

    func setNull() { kind = .null }

    /// Adds an element and returns its node.
    func append() -> FormNode {
        let child = FormNode()
        children.append(child)
        return child
    }

    /// Returns the member of a key: a new node, or the existing one if `reusing` is `true`.
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
