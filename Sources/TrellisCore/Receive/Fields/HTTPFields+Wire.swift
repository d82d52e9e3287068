package import CurlEngine
package import HTTPTypes

extension HTTPFields {
    /// Creates fields from the wire. Bytes beyond ASCII are kept as they are.
    package init(_ wire: WireFields) { self = FieldCache.shared.withLock { $0.fields(of: wire) } }

    /// Creates the fields from the wire whose names have certain lengths, and those whose names have 64 bytes or more.
    ///
    /// - Parameter nameLengths: The lengths, each as a bit.
    init(_ wire: WireFields, nameLengths: UInt64) {
        var fields: [HTTPField] = []
        fields.reserveCapacity(Swift.min(wire.count, 8))
        Self.forEach(in: wire, nameLengths: nameLengths) { fields.append($0) }
        self.init(all: fields)
    }

    /// Calls `body` with each of the fields whose names have certain lengths, and with those whose names have 64 bytes or more, in order.
    ///
    /// - Parameters:
    ///   - nameLengths: The lengths, each as a bit.
    ///   - body: A function that reads no other fields from the wire.
    @inline(__always)
    static func forEach(in wire: WireFields, nameLengths: UInt64, _ body: (HTTPField) -> Void) {
        FieldCache.shared.withLock { cache in
            wire.forEachLine { line, parts in
                guard parts.nameEnd >= 64 || nameLengths >> UInt64(parts.nameEnd) & 1 == 1 else { return }
                if let field = cache.field(line, parts) { body(field) }
            }
        }
    }

    /// Creates fields in their order.
    ///
    /// Assigning all fields at once costs a tenth of appending them one by one. The name has no effect: there are no fields of that name to
    /// be replaced, and every field keeps its own.
    package init(all fields: [HTTPField]) {
        self.init()
        reserveCapacity(fields.count)
        self[fields: .date] = fields
    }
}
