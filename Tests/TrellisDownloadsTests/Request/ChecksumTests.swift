import Foundation
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisDownloads

/// Checksums that callers expect and that servers declare.
struct ChecksumTests {
    private static let abc256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    private static let texts: [(String, Bool)] = [
        ("sha256:\(abc256)", true), ("SHA256:\(abc256.uppercased())", true),
        ("sha512:" + String(repeating: "0f", count: 64), true),
        ("sha256:" + String(repeating: "0", count: 63), false), ("sha512:\(abc256)", false), ("md5:00", false),
        (abc256, false), ("sha256:", false), ("sha256:zz", false), ("", false),
        ("sha256:" + String(repeating: "١", count: 64), false),
    ]

    @Test(arguments: texts)
    func aTextIsAnAlgorithmAndADigest(_ text: String, _ isOne: Bool) { #expect((Checksum(text) != nil) == isOne) }

    @Test func theDigestIsComputed() throws {
        let checksum = Checksum.sha256(Self.abc256)
        var digest = try #require(checksum.makeDigest())
        digest.update(Data("a".utf8))
        digest.update(Data("bc".utf8))
        #expect(digest.finish() == checksum.expected)
        #expect(checksum.problem() == nil)
    }

    @Test(arguments: [Checksum.sha256("abc"), .sha256("abcd"), .sha512(abc256), .sha256(""), .sha256("+1")])
    func anInvalidDigestIsAnErrorBeforeAnythingIsSent(_ checksum: Checksum) {
        #expect(checksum.problem()?.kind == .invalidRequest)
    }

    @Test func checksumsAreEqualIfNameAndBytesAre() {
        let one = Checksum.sha256(Self.abc256)
        #expect(one == Checksum("SHA256:\(Self.abc256.uppercased())"))
        #expect(one != Checksum.sha256("00"))
        #expect(Checksum.sha256("00") != Checksum.sha512("00"))
        #expect(Set([one, Checksum.sha256(Self.abc256), Checksum.sha512(Self.abc256)]).count == 2)
    }

    private static let base64 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

    @Test(arguments: [
        ("sha-256=:\(base64):", true), ("md5=:AAAA:, sha-256=:\(base64):;x=y", true), ("sha-256=\(base64)", false),
        ("sha-256=:AAAA:", false), ("sha-512=:\(base64):", false), ("unixsum=1", false), ("", false),
        ("sha-256", false),
        ("sha-256=::", false), ("sha-256=:", false),
    ])
    func fieldsOfServers(_ value: String, _ isUsed: Bool) throws {
        let name = try #require(HTTPField.Name("Repr-Digest"))
        let checksum = DigestFields.checksum([name: value], of: .partOfRepresentation)
        #expect(checksum.map { Hexadecimal.text($0.expected) } == (isUsed ? Self.abc256 : nil))
    }

    @Test func aDigestOfTheContentIsNotThatOfARepresentationInParts() throws {
        let name = try #require(HTTPField.Name("Content-Digest"))
        let fields: HTTPFields = [name: "sha-256=:\(Self.base64):"]
        #expect(DigestFields.checksum(fields, of: .representation) != nil)
        #expect(DigestFields.checksum(fields, of: .content) != nil)
        #expect(DigestFields.checksum(fields, of: .partOfRepresentation) == nil)
        var coded = fields
        coded[.contentEncoding] = "gzip"
        #expect(DigestFields.checksum(coded, of: .representation) == nil)
    }
}
