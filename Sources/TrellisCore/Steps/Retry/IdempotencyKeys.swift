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
