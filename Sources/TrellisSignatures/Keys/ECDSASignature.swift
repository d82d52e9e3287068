/// The two numbers of an ECDSA signature: as DER (RFC 3279, section 2.2.3), which OpenSSL has, and with a fixed length, one after the other
/// (RFC 9421, section 3.3.4).
struct ECDSASignature: Hashable {
    /// The numbers without zeros in front.
    private let numbers: [ArraySlice<UInt8>]

    /// Reads a signature of a fixed length; `nil` if it has another one.
    init?(fixed bytes: [UInt8], _ length: Int) {
        guard bytes.count == 2 * length else { return nil }
        numbers = [bytes.prefix(length), bytes.suffix(length)].map { $0.drop { $0 == 0 } }
    }

    /// Reads a sequence of two integers; `nil` for anything else.
    init?(der: [UInt8]) {
        guard let sequence = Self.contents(der[...], tag: 0x30), sequence.rest.isEmpty,
            let first = Self.contents(sequence.contents, tag: 0x02),
            let second = Self.contents(first.rest, tag: 0x02), second.rest.isEmpty
        else { return nil }
        numbers = [first.contents, second.contents].map { $0.drop { $0 == 0 } }
    }

    /// Returns the numbers one after the other; `nil` if one of them is longer than `length` bytes.
    func fixed(_ length: Int) -> [UInt8]? {
        guard numbers.allSatisfy({ $0.count <= length }) else { return nil }
        return numbers.flatMap { [UInt8](repeating: 0, count: length - $0.count) + $0 }
    }

    /// The sequence of the two integers.
    var der: [UInt8] {
        let integers = numbers.flatMap { number in
            // A number whose first bit is set would be negative.
            let isNegative = (number.first ?? 0x80) & 0x80 != 0
            let bytes = (isNegative ? [0] : []) + number
            return [0x02, UInt8(bytes.count)] + bytes
        }
        // Two numbers of at most 49 bytes.
        return [0x30, UInt8(integers.count)] + integers
    }

    private static func contents(
        _ bytes: ArraySlice<UInt8>, tag: UInt8
    ) -> (contents: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        let body = bytes.dropFirst(2)
        // Lengths from 128 on have another form, which no signature needs.
        guard bytes.count >= 2, bytes.first == tag, let length = bytes.dropFirst().first, length < 0x80,
            body.count >= Int(length)
        else { return nil }
        return (body.prefix(Int(length)), body.dropFirst(Int(length)))
    }
}
