import HTTPTypes

/// Makes the keys of calls: what belongs to one call is the same however often it is asked for, and nobody else can tell one
/// from another.
struct IdempotencyKeys: Sendable {
    // Two policies of a process see the same calls, and may not give them the same keys.
    private let secret = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// 128 bits in the form of a random UUID (RFC 9562, section 5.4).
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

    /// The standard library's hash is keyed (SipHash), with a key of the process.
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
    /// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): servers that know it do once what they are asked several
    /// times with one key. The key is written without quotation marks, as the services that have the field document it.
    static let idempotencyKey = Self("Idempotency-Key") ?? .from  // It is a token: the other name is never taken.
}

extension Request {
    /// Sending it twice does what sending it once does: by its method (RFC 9110, section 9.2.2), or by its `Idempotency-Key`.
    var mayBeRepeated: Bool { method.isIdempotent || hasIdempotencyKey }

    /// The request says which others would be the same one.
    var hasIdempotencyKey: Bool { !(headerFields[.idempotencyKey] ?? "").isEmpty }
}
