import CurlEngine
import HTTPTypes

/// A cache of the fields that were received last, of their names, and of complete heads.
///
/// Most fields of a server's responses are the same in each of them, and making a field costs about twenty times as much as finding one.
/// Heads that are the same share their fields, without a copy of each field.
struct FieldCache {
    static let shared = Locked(FieldCache())

    /// A field, with the line from which it was made.
    private final class Known {
        let hash: UInt64
        let line: [UInt8]
        let field: HTTPField

        init(hash: UInt64, line: [UInt8], _ field: HTTPField) {
            self.hash = hash
            self.line = line
            self.field = field
        }
    }

    /// A name, with the bytes from which it was made.
    private struct KnownName {
        let bytes: [UInt8]
        let name: HTTPField.Name
        /// Whether the fields of this name hold secrets, or URLs that may hold them.
        let isSecret: Bool
    }

    /// The fields of a head, with the lines from which they were made. No field has a secret name, or one for URLs.
    private struct KnownHead {
        let wire: WireFields
        let fields: HTTPFields
    }

    private static let slotCount = 512
    /// The maximum length of a cached line in bytes. Longer lines are rare, and are not cached.
    private static let maximumLength = 256
    private static let headSlotCount = 64
    /// The maximum length of the lines of a cached head in bytes.
    private static let maximumHeadLength = 4096
    private var fields = [Known?](repeating: nil, count: slotCount)
    private var names = [KnownName?](repeating: nil, count: slotCount)
    private var heads = [KnownHead?](repeating: nil, count: headSlotCount)
    /// Whether a field that may hold a secret was made since the flag was reset.
    private var hasMadeSecret = false

    // MARK: Heads

    /// Returns the fields of a head or of trailers. Fields whose names are not valid are left out.
    mutating func fields(of wire: WireFields) -> HTTPFields {
        if let fields = knownFields(of: wire) { return fields }
        hasMadeSecret = false
        if let fields = changedFields(of: wire) { return fields }
        var fields: [HTTPField] = []
        fields.reserveCapacity(wire.count)
        wire.forEachLine { line, parts in
            if let made = self.field(line, parts) { fields.append(made) }
        }
        let made = HTTPFields(all: fields)
        if made.count == wire.count { keep(made, of: wire) }
        return made
    }

    /// Returns the fields of a cached head with the same lines, if any.
    func knownFields(of wire: WireFields) -> HTTPFields? {
        guard let known = heads[Self.headSlot(of: wire)], wire.bytes.span.hasSameBytes(as: known.wire.bytes) else {
            return nil
        }
        return known.fields
    }

    /// Returns the fields of a head that differs from a cached one in few lines, such as its date, if any.
    private mutating func changedFields(of wire: WireFields) -> HTTPFields? {
        guard let known = heads[Self.headSlot(of: wire)] else { return nil }
        var fields = known.fields
        var isComplete = true
        let isLike = wire.forEachDifference(from: known.wire, limit: 1 + wire.count / 4) { index, line, parts in
            guard let made = self.field(line, parts) else { return isComplete = false }
            // Assigning the field would keep one with the same characters, which may have other bytes.
            fields.replaceSubrange(index..<index + 1, with: CollectionOfOne(made))
        }
        guard isLike, isComplete else { return nil }
        keep(fields, of: wire)
        return fields
    }

    private mutating func keep(_ fields: HTTPFields, of wire: WireFields) {
        guard !hasMadeSecret, wire.count > 0, wire.bytes.count <= Self.maximumHeadLength else { return }
        heads[Self.headSlot(of: wire)] = KnownHead(wire: wire, fields: fields)
    }

    /// Returns the slot of a head. Heads of a server mostly have the same number of fields, and begin with the same name.
    private static func headSlot(of wire: WireFields) -> Int {
        let bytes = wire.bytes
        guard bytes.count > 8 else { return 0 }
        return (wire.count &* 31 &+ Int(bytes[0]) &* 7 &+ Int(bytes[3]) &* 5 &+ Int(bytes[8])) % headSlotCount
    }

    // MARK: Fields

    /// Returns the field of a line, from the cache if possible; `nil` if its name is not valid.
    mutating func field(_ line: Span<UInt8>, _ parts: WireFields.Parts) -> HTTPField? {
        let slot = Int(truncatingIfNeeded: parts.hash % UInt64(Self.slotCount))
        if let known = fields[slot], known.hash == parts.hash, line.hasSameBytes(as: known.line) { return known.field }
        guard let known = name(line.extracting(..<parts.nameEnd)) else { return nil }
        let field = HTTPField(known.name, line.extracting(parts.valueStart...))
        // Secrets, such as cookies, do not stay in memory after their response, and mostly differ from one response to the next.
        if known.isSecret {
            hasMadeSecret = true
        } else if line.count <= Self.maximumLength {
            fields[slot] = Known(hash: parts.hash, line: Self.bytes(line), field)
        }
        return field
    }

    private mutating func name(_ bytes: Span<UInt8>) -> KnownName? {
        var hash: UInt32 = 2_166_136_261
        for index in bytes.indices { hash = (hash ^ UInt32(bytes[index])) &* 16_777_619 }
        let slot = Int(hash % UInt32(Self.slotCount))
        if let known = names[slot], bytes.hasSameBytes(as: known.bytes) { return known }
        guard let name = HTTPField.Name(Self.text(bytes)) else { return nil }
        let isSecret = SecretFields.mayHoldURLs(name) || SecretFields.isSecret(HTTPField(name: name, value: ""))
        let known = KnownName(bytes: Self.bytes(bytes), name: name, isSecret: isSecret)
        if bytes.count <= Self.maximumLength { names[slot] = known }
        return known
    }

    private static func bytes(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

    private static func text(_ bytes: Span<UInt8>) -> String { String(decoding: Self.bytes(bytes), as: UTF8.self) }
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
