package import CurlEngine
package import HTTPTypes

extension HTTPFields {
    /// Creates fields from the wire. Bytes beyond ASCII are kept as they are.
    package init(_ wire: WireFields) {
        self.init()
        reserveCapacity(wire.count)
        FieldNames.shared.withLock { names in
            wire.forEach { name, value in
                guard let name = names.name(name) else { return }
                append(HTTPField(name, value))
            }
        }
    }
}

extension HTTPField {
    fileprivate init(_ name: Name, _ value: Span<UInt8>) {
        if let text = try? UTF8Span(validating: value) {
            self.init(name: name, value: String(copying: text))
        } else {
            self.init(name: name, lenientValue: value.indices.map { value[$0] })
        }
    }
}

/// A cache of the field names that were received last. Servers send the same names repeatedly, and making a name costs more than
/// finding one.
private struct FieldNames {
    static let shared = Locked(FieldNames())

    private static let slotCount = 256
    /// The maximum length of a cached name in bytes. Longer names are rare, and are not cached.
    private static let maximumLength = 64
    private var slots = [(bytes: [UInt8], name: HTTPField.Name)?](repeating: nil, count: slotCount)

    /// Returns the name with these bytes, from the cache if possible; `nil` if the bytes are not a valid name.
    mutating func name(_ bytes: Span<UInt8>) -> HTTPField.Name? {
        guard bytes.count <= Self.maximumLength else { return HTTPField.Name(Self.text(bytes)) }
        var hash: UInt32 = 2_166_136_261
        for index in bytes.indices { hash = (hash ^ UInt32(bytes[index])) &* 16_777_619 }
        let slot = Int(hash % UInt32(Self.slotCount))
        if let known = slots[slot], Self.isEqual(known.bytes.span, bytes) { return known.name }
        guard let name = HTTPField.Name(Self.text(bytes)) else { return nil }
        slots[slot] = (bytes.indices.map { bytes[$0] }, name)
        return name
    }

    private static func isEqual(_ known: Span<UInt8>, _ bytes: Span<UInt8>) -> Bool {
        guard known.count == bytes.count else { return false }
        for index in bytes.indices where known[index] != bytes[index] { return false }
        return true
    }

    private static func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
}
