import FoundationEssentials
import Testing

@testable import CurlEngine

/// Hashes are equal to the examples in their specifications (RFC 1321, FIPS 180-4).
struct MessageDigestTests {
    @Test(arguments: [
        (MessageDigest.Algorithm.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.sha512_256, "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ])
    func knownHashes(_ algorithm: MessageDigest.Algorithm, _ text: String, _ hash: String) {
        #expect(MessageDigest.hash(text, algorithm) == hash)
    }

    @Test(arguments: MessageDigest.Algorithm.allCases)
    func bytesMayComeBitByBit(_ algorithm: MessageDigest.Algorithm) throws {
        let digest = try #require(MessageDigest(algorithm))
        for byte in "message digest".utf8 { digest.update([byte]) }
        digest.update(Data())
        #expect(digest.finish() == MessageDigest.hash("message digest", algorithm))
    }
}
