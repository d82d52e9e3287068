package import CurlEngine
package import HTTPTypes

extension HTTPFields {
    /// Creates fields from the wire. Bytes beyond ASCII are kept as they are.
    package init(_ wire: WireFields) { self.init(wire, nameLengths: .max) }

    /// Creates the fields from the wire whose names have certain lengths, and those whose names have 64 bytes or more.
    ///
    /// - Parameter nameLengths: The lengths, each as a bit.
    init(_ wire: WireFields, nameLengths: UInt64) {
        var fields: [HTTPField] = []
        fields.reserveCapacity(Swift.min(wire.count, nameLengths == .max ? .max : 8))
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
    init(all fields: [HTTPField]) {
        self.init()
        reserveCapacity(fields.count)
        self[fields: .date] = fields
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

/// A cache of the fields that were received last, and of their names.
///
/// Most fields of a server's responses are the same in each of them, and making a field costs about twenty times as much as finding one.
private struct FieldCache {
    static let shared = Locked(FieldCache())

    /// A field, with the line from which it was made.
    private final class Known {
        let hash: UInt64
        let line: [UInt8]
        let field: HTTPField

        init(_ hash: UInt64, _ line: [UInt8], _ field: HTTPField) {
            self.hash = hash
            self.line = line
            self.field = field
        }
    }

    /// A name, with the bytes from which it was made.
    private struct KnownName {
        let bytes: [UInt8]
        let name: HTTPField.Name
        /// Indicates whether the fields of this name hold secrets, or URLs that may hold them.
        let isSecret: Bool
    }

    private static let slotCount = 512
    /// The maximum length of a cached line in bytes. Longer lines are rare, and are not cached.
    private static let maximumLength = 256
    private var fields = [Known?](repeating: nil, count: slotCount)
    private var names = [KnownName?](repeating: nil, count: slotCount)

    /// Returns the field of a line, from the cache if possible; `nil` if its name is not valid.
    mutating func field(_ line: Span<UInt8>, _ parts: WireFields.Parts) -> HTTPField? {
        let slot = Int(truncatingIfNeeded: parts.hash % UInt64(Self.slotCount))
        if let known = fields[slot], known.hash == parts.hash, line.hasSameBytes(as: known.line) { return known.field }
        guard let known = name(line.extracting(..<parts.nameEnd)) else { return nil }
        let field = HTTPField(known.name, line.extracting(parts.valueStart...))
        // Secrets, such as cookies, do not stay in memory after their response, and mostly differ from one response to the next.
        if line.count <= Self.maximumLength, !known.isSecret {
            fields[slot] = Known(parts.hash, Self.bytes(line), field)
        }
        return field
    }

    private mutating func name(_ bytes: Span<UInt8>) -> KnownName? {
        var hash: UInt32 = 2_166_136_261
        for index in bytes.indices { hash = (hash ^ UInt32(bytes[index])) &* 16_777_619 }
        let slot = Int(hash % UInt32(Self.slotCount))
        if let known = names[slot], bytes.hasSameBytes(as: known.bytes) { return known }
        guard let name = HTTPField.Name(Self.text(bytes)) else { return nil }
        let isSecret = name == .location || SecretFields.isSecret(HTTPField(name: name, value: ""))
        let known = KnownName(bytes: Self.bytes(bytes), name: name, isSecret: isSecret)
        if bytes.count <= Self.maximumLength { names[slot] = known }
        return known
    }

    private static func bytes(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

    private static func text(_ bytes: Span<UInt8>) -> String { String(decoding: Self.bytes(bytes), as: UTF8.self) }
}
