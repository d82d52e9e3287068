import HTTPTypes

/// The generator of the idempotency keys of calls: a call gets the same key each time, and no other party can derive one key from
/// another.
struct IdempotencyKeys: Sendable, RedactedDescription {
    // Two policies of a process see the same calls, and must not give them the same keys.
    private let secret = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// Returns the key of a call: 128 bits in the form of a random UUID (RFC 9562, section 5.4).
    func key(ofCall id: UInt64) -> String {
        let high = hash(id, secret.0) & 0xffff_ffff_ffff_0fff | 0x4000
        let low = hash(id, secret.1) & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        let digits = Self.digits(high) + Self.digits(low)
        var key = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { key.append("-") }
            key.append(digit)
        }
        return key
    }

    /// Returns a keyed hash of a call's number. The standard library's hash is keyed (SipHash), with a key of the process.
    private func hash(_ id: UInt64, _ secret: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(id)
        hasher.combine(secret)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private static func digits(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension HTTPField.Name {
    /// The field `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a server that knows the field executes several
    /// requests with one key once. The key is written without quotation marks, as the services that have the field document it.
    static let idempotencyKey = Self("Idempotency-Key") ?? .from  // A valid token: the fallback is never used.
}

extension Request {
    /// Indicates whether sending the request twice has the same effect as sending it once: by its method
    /// (RFC 9110, section 9.2.2), or by its `Idempotency-Key`.
    var mayBeRepeated: Bool { method.isIdempotent || hasIdempotencyKey }

    /// Indicates whether the request has an `Idempotency-Key`, by which the server recognizes its repetitions.
    var hasIdempotencyKey: Bool { !(headers[.idempotencyKey] ?? "").isEmpty }
}
