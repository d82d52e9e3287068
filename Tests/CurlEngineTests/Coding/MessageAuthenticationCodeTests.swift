import CurlEngine
import Testing

/// HMAC (RFC 4231, section 4).
struct MessageAuthenticationCodeTests {
    private static let vectors: [([UInt8], [UInt8], String)] = [
        (
            [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ]

    @Test(arguments: vectors) func aMessageHasItsCode(_ key: [UInt8], _ message: [UInt8], _ digits: String) throws {
        let code = try #require(MessageAuthenticationCode.code(message, key: key, .sha256))
        #expect(code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == digits)
    }

    @Test func theFunctionWithLargerBlocks() throws {
        let code = try #require(
            MessageAuthenticationCode.code(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8), .sha512)
        )
        #expect(code.count == 64 && code.prefix(4) == [0x16, 0x4B, 0x7A, 0x7B])
    }

    @Test func everyByteIsCompared() {
        let code = [UInt8](0..<32)
        #expect(MessageAuthenticationCode.areEqual(code, code) && MessageAuthenticationCode.areEqual([], []))
        for index in code.indices {
            for bit in 0..<8 {
                var other = code
                other[index] ^= 1 << bit
                #expect(!MessageAuthenticationCode.areEqual(code, other))
            }
        }
        #expect(!MessageAuthenticationCode.areEqual(code, code.dropLast()))
    }
}
