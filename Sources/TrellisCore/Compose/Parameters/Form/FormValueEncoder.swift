/// The state that the encoders of one top-level value share.
final class FormContext {
    let options: URLEncodedFormEncoder
    /// The first error of a call that cannot throw. Writing the next value throws this error.
    var failure: EncodingError?

    init(_ options: URLEncodedFormEncoder) { self.options = options }
}

/// An encoder that writes a value into a ``FormNode``.
struct FormValueEncoder: Encoder {
    /// The limit on nested calls of `encode(to:)`. Calls by optionals and other wrappers count, although they do not appear in
    /// the coding path.
    private static let maximumCalls = 4 * URLEncodedFormEncoder.maximumDepth

    /// The node that receives the value.
    let node: FormNode
    let context: FormContext
    let codingPath: [any CodingKey]
    /// The number of `encode(to:)` calls around this one.
    let depth: Int

    var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(FormKeyedContainer(encoder: opened(as: .object)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { FormUnkeyedContainer(encoder: opened(as: .array)) }

    func singleValueContainer() -> any SingleValueEncodingContainer { FormSingleValueContainer(encoder: self) }

    // MARK: Values of the containers

    /// Returns the encoder of a child, for a value or for a nested container. Past the maximum depth, the error is recorded and
    /// the encoder's node is discarded.
    func child(_ node: FormNode, at key: any CodingKey) -> FormValueEncoder {
        guard codingPath.count < URLEncodedFormEncoder.maximumDepth else {
            fail(Self.tooDeep)
            return FormValueEncoder(node: FormNode(), context: context, codingPath: codingPath, depth: depth)
        }
        return FormValueEncoder(node: node, context: context, codingPath: codingPath + [key], depth: depth + 1)
    }

    /// Writes a value into the node. A node that already has a value is an error.
    func write<Value: Encodable>(_ value: Value) throws {
        if let failure = context.failure { throw failure }
        guard depth <= Self.maximumCalls else { throw error(Self.tooDeep, Value.self) }
        guard node.kind == .unset else { throw error("a value has already been encoded here", Value.self) }
        if let scalar = value as? any FormScalar, let text = try text(of: scalar) { return node.set(text) }
        try value.encode(to: self)
        if let failure = context.failure { throw failure }
    }

    /// Writes `nil` into the node. A node that already has a value is an error.
    func writeNil() throws {
        guard node.kind == .unset else { throw error("a value has already been encoded here", Never?.self) }
        node.setNull()
    }

    /// Returns an encoder for the same node, one call deeper.
    func inner() -> FormValueEncoder {
        FormValueEncoder(node: node, context: context, codingPath: codingPath, depth: depth + 1)
    }

    // MARK: Parts

    /// Returns an encoder whose node is an array or an object. If the node already has another kind, the error is recorded and
    /// the encoder's node is discarded.
    private func opened(as kind: FormNode.Kind) -> FormValueEncoder {
        if node.become(kind) { return self }
        fail("a value of another kind has already been encoded here")
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

    /// Records an error, unless an earlier one is recorded.
    private func fail(_ reason: String) {
        if context.failure == nil { context.failure = error(reason, Never.self) }
    }

    /// Returns an error with the type instead of the value, which may be secret, or too deep to be described.
    private func error(_ reason: String, _ type: Any.Type) -> EncodingError {
        .invalidValue(type, .init(codingPath: codingPath, debugDescription: reason))
    }

    private static var tooDeep: String { "it is nested in more than \(URLEncodedFormEncoder.maximumDepth) others" }
}

/// The coding key of an array's element.
struct FormIndex: CodingKey {
    let intValue: Int?
    var stringValue: String { "Index \(intValue ?? 0)" }

    init(_ index: Int) { intValue = index }
    init?(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { return nil }
}

/// The coding key of a super encoder that was requested without a key.
struct FormSuperKey: CodingKey {
    let stringValue = "super"
    var intValue: Int? { nil }

    init() {}
    init?(intValue: Int) { return nil }
    init?(stringValue: String) { return nil }
}
