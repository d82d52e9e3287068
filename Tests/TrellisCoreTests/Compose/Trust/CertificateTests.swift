import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Certificates are read, and malformed ones are refused.
struct CertificateTests {
    private static func leaf() throws -> Certificate { try TestCertificates.chain()[0] }

    /// RFC 4514, section 2.4.
    @Test(arguments: [
        ("a b#c", "a b#c"), ("#a", "\\#a"), (" a ", "\\ a\\ "), ("  ", "\\ \\ "), (" ", "\\ "),
        ("a,b=\"c\"", "a\\,b\\=\\\"c\\\""),
        ("a\n", "a\\0a"), ("", ""),
    ])
    func aValueIsEscaped(_ value: String, _ text: String) { #expect(DistinguishedName.escaped(value) == text) }

    @Test func thePropertiesOfACertificate() throws {
        let leaf = try Self.leaf()
        #expect(leaf.subject == #"C=DE, O=Müller \"& Söhne\", CN=www.example.com"#)
        #expect(leaf.issuer == #"C=US, O=Example\, Inc., CN=Example Root"#)
        #expect(leaf.serialNumber == "f1e2d3c4b5a697887766554433221100")
        #expect(leaf.publicKeyPin.description == TestCertificates.leafPin)
        #expect(leaf.notBefore == Date(timeIntervalSince1970: 1_795_417_272))
        #expect(leaf.notAfter == Date(timeIntervalSince1970: 3_523_417_272))
        #expect(
            leaf.subjectAlternativeNames == [
                .dnsName("www.example.com"), .dnsName("*.example.com"), .ipAddress("192.0.2.1"),
                .ipAddress("2001:db8::1"), .ipAddress("::1"), .uri("https://example.com/a"),
                .emailAddress("ada@example.com"),
            ])
    }

    @Test func aRootHasNoAlternativeNames() throws {
        let root = try TestCertificates.chain()[1]
        #expect(root.subject == root.issuer && root.subjectAlternativeNames.isEmpty)
        #expect(root.publicKeyPin.description == TestCertificates.rootPin)
        #expect(root.description == #"C=US, O=Example\, Inc., CN=Example Root (\#(TestCertificates.rootPin))"#)
    }

    @Test func theTextFormIsTheSameAsOpenSSLs() throws {
        let leaf = try Self.leaf()
        #expect(leaf.pemRepresentation == TestCertificates.leafPEM)
        #expect(try Certificate(derRepresentation: leaf.derRepresentation) == leaf)
    }

    @Test func textAroundCertificatesIsSkipped() throws {
        let text = "key\r\n" + TestCertificates.leafPEM + "\n# root\n" + TestCertificates.rootPEM + "end"
        #expect(try Certificate.certificates(pemRepresentation: text).count == 2)
        let withCarriageReturns = TestCertificates.rootPEM.split(separator: "\n").joined(separator: "\r\n")
        #expect(try Certificate.certificates(pemRepresentation: withCarriageReturns).count == 1)
    }

    @Test(arguments: [
        "", "text", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nMAA\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n§§\n-----END CERTIFICATE-----",
    ])
    func textWithoutACertificateIsAnError(_ text: String) {
        let error = failure { try Certificate.certificates(pemRepresentation: text) }
        #expect(error?.kind == .invalidRequest)
    }

    /// A certificate that is cut short, or has a byte more, is no certificate.
    @Test func everyOtherLengthIsAnError() throws {
        let bytes = [UInt8](try Self.leaf().derRepresentation)
        for count in bytes.indices { #expect(failure { try Certificate(derRepresentation: bytes[..<count]) } != nil) }
        #expect(failure { try Certificate(derRepresentation: bytes + [0]) } != nil)
    }

    /// No change of a byte, and no cut inside a value whose length still fits, makes the reader leave its bytes.
    @Test func changedBytesAreReadOrRefused() throws {
        let bytes = [UInt8](try Self.leaf().derRepresentation)
        var generator = SeededGenerator(seed: 13)
        var refused = 0
        for index in bytes.indices {
            for value in [0, 1, 0x7F, 0x80, 0x81, 0x84, 0xFF, UInt8.random(in: 0...255, using: &generator)] {
                var changed = bytes
                changed[index] = value
                if failure({ try Certificate(derRepresentation: changed) }) != nil { refused += 1 }
            }
        }
        #expect(refused > 100)
        for _ in 0..<Scale.count(500, all: 2000) {
            let noise = (0..<Int.random(in: 0...64, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            #expect(failure { try Certificate(derRepresentation: noise) } != nil)
        }
    }

    private func failure(_ body: () throws -> some Any) -> TrellisError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? TrellisError
        }
    }
}

/// The text of names (RFC 4514, section 2.4).
struct DistinguishedNameTests {
    @Test(arguments: [
        ("a", "a"), ("a b#", "a b#"), ("#a", "\\#a"), (" a ", "\\ a\\ "), (" ", "\\ "), ("a,b+c", "a\\,b\\+c"),
        ("", ""),
        ("a\u{0}", "a\\00"),
    ])
    func whatWouldBeMisreadIsEscaped(_ value: String, _ text: String) throws {
        func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
        let attribute = element(0x06, [0x55, 4, 3]) + element(0x0C, Array(value.utf8))
        var reader = DERReader(element(0x30, element(0x31, element(0x30, attribute)))[...])
        #expect(try DistinguishedName.text(reader.next()) == "CN=\(text)")
    }
}

/// The values of DER (X.690).
struct DERReaderTests {
    @Test(
        arguments: [
            ([0x30, 0x00], 0), ([0x04, 0x02, 1, 2], 2), ([0x04, 0x81, 0x80] + [UInt8](repeating: 7, count: 128), 128),
            ([0x04, 0x82, 0x01, 0x00] + [UInt8](repeating: 7, count: 256), 256),
        ] as [([UInt8], Int)])
    func wellFormedValues(_ bytes: [UInt8], _ length: Int) throws {
        var reader = DERReader(bytes[...])
        let element = try reader.next()
        #expect(element.content.count == length && Array(element.encoding) == bytes && reader.isAtEnd)
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x01], [0x30, 0x80], [0x30, 0x80, 0, 0], [0x30, 0x81], [0x30, 0x81, 0x7F],
            [0x30, 0x81, 0x80], [0x30, 0x82, 0x00, 0x80], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x85, 1, 0, 0, 0, 0], [0x30, 0xFF], [0x1F, 0x01, 0x00], [0x3F, 0x81, 0x01, 0x00],
        ] as [[UInt8]])
    func malformedValues(_ bytes: [UInt8]) {
        #expect(throws: DERReader.Malformed.self) {
            var reader = DERReader(bytes[...])
            _ = try reader.next()
        }
    }
}
