import Foundation
import Testing

@testable import CurlEngine

/// AES-256-GCM, with test vectors of its authors (McGrew and Viega, "The Galois/Counter Mode of Operation", cases 13, 14 and 16).
struct AuthenticatedCipherTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let number: Int
        let key: String, nonce: String, text: String, context: String, sealed: String

        var testDescription: String { "case \(number)" }
    }

    private static let vectors = [
        Vector(
            number: 13, key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12), text: "",
            context: "", sealed: "530f8afbc74536b9a963b4f1c4cb738b"),
        Vector(
            number: 14, key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12),
            text: String(repeating: "00", count: 16), context: "",
            sealed: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"),
        Vector(
            number: 16, key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888",
            text: """
                d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
                """,
            context: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            sealed: """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662\
                76fc6ece0f4e1768cddf8853bb2d551b
                """),
    ]

    private static func bytes(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.utf8.count, by: 2).compactMap { start in
            UInt8(text.dropFirst(start).prefix(2), radix: 16)
        }
    }

    @Test(arguments: vectors) func vectorsAreSealedAndOpened(_ vector: Vector) throws {
        let cipher = try #require(AuthenticatedCipher(key: Self.bytes(vector.key)))
        let (text, context) = (Data(Self.bytes(vector.text)), Self.bytes(vector.context))
        let nonce = Self.bytes(vector.nonce)
        let sealed = Data(nonce + Self.bytes(vector.sealed))
        #expect(cipher.seal(text, context: context, nonce: nonce) == sealed)
        #expect(cipher.open(sealed, context: context) == text)
        #expect(cipher.open(sealed, context: context + [0]) == nil)
    }

    @Test func eachMessageHasANonceOfItsOwn() throws {
        let cipher = try #require(AuthenticatedCipher(key: [UInt8](repeating: 3, count: 32)))
        let sealed = (0..<100).compactMap { _ in cipher.seal(Data("a".utf8), context: []) }
        #expect(Set(sealed.map { $0.prefix(12) }).count == 100)
        #expect(sealed.allSatisfy { cipher.open($0, context: []) == Data("a".utf8) })
    }

    @Test func keysAndMessagesOfOtherSizesAreRefused() throws {
        #expect(AuthenticatedCipher(key: [1, 2, 3]) == nil)
        let cipher = try #require(AuthenticatedCipher(key: [UInt8](repeating: 3, count: 32)))
        for count in 0..<28 { #expect(cipher.open(Data(count: count), context: []) == nil) }
        #expect(cipher.seal(Data(), context: [], nonce: [1]) == nil)
    }
}
