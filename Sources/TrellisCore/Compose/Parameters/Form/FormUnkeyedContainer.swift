/// The encoding container for the elements of an array.
struct FormUnkeyedContainer: UnkeyedEncodingContainer {
    let encoder: FormValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.children.count }

    private func next() -> FormValueEncoder {
        let index = FormIndex(count)
        return encoder.child(encoder.node.append(), at: index)
    }

    func encodeNil() throws { try next().writeNil() }
    func encode<Value: Encodable>(_ value: Value) throws { try next().write(value) }
    func encode(_ value: Int128) throws { try next().write(value) }
    func encode(_ value: UInt128) throws { try next().write(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        next().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

    func superEncoder() -> any Encoder { next() }
}

/// The encoding container for a value without keys.
struct FormSingleValueContainer: SingleValueEncodingContainer {
    let encoder: FormValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws { try encoder.writeNil() }
    func encode<Value: Encodable>(_ value: Value) throws { try encoder.inner().write(value) }
    func encode(_ value: Int128) throws { try encoder.inner().write(value) }
    func encode(_ value: UInt128) throws { try encoder.inner().write(value) }
}
