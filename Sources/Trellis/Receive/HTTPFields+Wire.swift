package import CurlEngine
package import HTTPTypes

extension HTTPFields {
    /// Fields from the wire. Bytes beyond ASCII are kept as they are.
    package init(_ wire: WireFields) {
        self.init()
        reserveCapacity(wire.count)
        let bytes = wire.bytes
        FieldNames.shared.withLock { names in
            wire.forEach { name, value in
                guard let name = names.name(bytes[name]) else { return }
                // The initializer for bytes looks at them one by one, and is needed only for what is no UTF-8.
                if let text = String(validating: bytes[value], as: UTF8.self) {
                    append(HTTPField(name: name, value: text))
                } else {
                    append(HTTPField(name: name, value: bytes[value]))
                }
            }
        }
    }
}

/// The field names that came last. Servers send the same ones again and again, and making a name costs more than finding
/// it.
private struct FieldNames {
    static let shared = Locked(FieldNames())

    private static let slotCount = 256
    private var slots = [(bytes: [UInt8], name: HTTPField.Name)?](repeating: nil, count: slotCount)

    mutating func name(_ bytes: ArraySlice<UInt8>) -> HTTPField.Name? {
        var hash: UInt32 = 2_166_136_261
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        let slot = Int(hash % UInt32(Self.slotCount))
        if let known = slots[slot], known.bytes[...] == bytes { return known.name }
        guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
        slots[slot] = (Array(bytes), name)
        return name
    }
}
