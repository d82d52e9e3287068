/// What the encoders of one value share.
final class FormContext {
    let options: URLEncodedFormEncoder
    /// The first mistake in a call that cannot throw.
    var failure: EncodingError?

    init(_ options: URLEncodedFormEncoder) { self.options = options }
}

/// Writes a value into a ``FormNode``.
struct FormValueEncoder: Encoder {
    /// Calls of `encode(to:)` in each other, optionals and other wrappers included, which have no place in the path.
    private static let maximumCalls = 4 * URLEncodedFormEncoder.maximumDepth

    let node: FormNode
    let context: FormContext
    let codingPath: [any CodingKey]
    let depth: Int

    var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(FormKeyedContainer(encoder: opened(as: .object)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { FormUnkeyedContainer(encoder: opened(as: .array)) }

    func singleValueContainer() -> any SingleValueEncodingContainer { FormSingleValueContainer(encoder: self) }

    // MARK: For the containers

    /// The encoder of a child, for a value or for a container of its own. Past the limit it writes to nowhere.
    func child(_ node: FormNode, at key: any CodingKey) -> FormValueEncoder {
        guard codingPath.count < URLEncodedFormEncoder.maximumDepth else {
            fail(Self.tooDeep)
            return FormValueEncoder(node: FormNode(), context: context, codingPath: codingPath, depth: depth)
        }
        return FormValueEncoder(node: node, context: context, codingPath: codingPath + [key], depth: depth + 1)
    }

    /// Writes a value into the node.
    func write<Value: Encodable>(_ value: Value) throws {
        if let failure = context.failure { throw failure }
        guard depth <= Self.maximumCalls else { throw error(Self.tooDeep, Value.self) }
        guard node.kind == .unset else { throw error("there is a value already", Value.self) }
        if let scalar = value as? any FormScalar, let text = try text(of: scalar) { return node.set(text) }
        try value.encode(to: self)
        if let failure = context.failure { throw failure }
    }

    /// Writes `nil` into the node.
    func writeNil() throws {
        guard node.kind == .unset else { throw error("there is a value already", Never?.self) }
        node.setNull()
    }

    /// The same node, one call further in.
    func inner() -> FormValueEncoder {
        FormValueEncoder(node: node, context: context, codingPath: codingPath, depth: depth + 1)
    }

    // MARK: Parts

    private func opened(as kind: FormNode.Kind) -> FormValueEncoder {
        if node.become(kind) { return self }
        fail("there is a value of another sort already")
        return FormValueEncoder(node: detached(kind), context: context, codingPath: codingPath, depth: depth)
    }

    private func detached(_ kind: FormNode.Kind) -> FormNode {
        let node = FormNode()
        _ = node.become(kind)
        return node
    }

    private func text(of scalar: any FormScalar) throws -> String? {
        do {
            return try scalar.formText(context.options)
        } catch {
            throw EncodingError.invalidValue(
                type(of: scalar),
                .init(codingPath: codingPath, debugDescription: "its encoding failed", underlyingError: error))
        }
    }

    private func fail(_ why: String) {
        if context.failure == nil { context.failure = error(why, Never.self) }
    }

    /// The type stands for the value, which may be secret, or too deep to be described.
    private func error(_ why: String, _ type: Any.Type) -> EncodingError {
        .invalidValue(type, .init(codingPath: codingPath, debugDescription: why))
    }

    private static var tooDeep: String { "it is nested in more than \(URLEncodedFormEncoder.maximumDepth) others" }
}

/// The place of an element in an array.
struct FormIndex: CodingKey {
    let intValue: Int?
    var stringValue: String { "Index \(intValue ?? 0)" }

    init(_ index: Int) { intValue = index }
    init?(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { return nil }
}

/// The key that a super encoder has unless one is given.
struct FormSuperKey: CodingKey {
    let stringValue = "super"
    var intValue: Int? { nil }

    init() {}
    init?(intValue: Int) { return nil }
    init?(stringValue: String) { return nil }
}
