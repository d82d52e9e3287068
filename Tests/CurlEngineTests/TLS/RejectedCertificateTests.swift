import CCurl
import Testing

@testable import CurlEngine

/// Certificates that end a handshake.
struct RejectedCertificateTests {
    /// OpenSSL's numbers of errors (x509_vfy.h).
    @Test(
        arguments: [
            (2, .unknownIssuer), (3, .unknownRevocation), (7, .other), (9, .notYetValid), (10, .expired),
            (12, .unknownRevocation), (18, .selfSigned), (19, .unknownAuthority), (20, .unknownIssuer),
            (21, .unknownIssuer), (23, .revoked), (26, .wrongPurpose), (33, .unknownRevocation), (47, .nameConstraint),
            (48, .nameConstraint), (50, .other), (62, .wrongHost), (64, .wrongHost), (66, .weak), (67, .weak),
            (68, .weak), (79, .wrongPurpose), (9999, .other),
        ] as [(Int32, RejectedCertificate.Rule)])
    func rules(_ error: Int32, _ rule: RejectedCertificate.Rule) {
        #expect(RejectedCertificate.Rule(verifyError: error) == rule)
    }

    @Test(
        arguments: [
            ("", []), ("a.example", ["a.example"]), ("a.example,*.b.example", ["a.example", "*.b.example"]),
            ("#7f000001", ["127.0.0.1"]), ("a,#00000000000000000000000000000001", ["a", "::1"]), ("#7f", ["#7f"]),
            ("#", ["#"]), ("#zz000001", ["#zz000001"]),
        ] as [(String, [String])])
    func names(_ list: String, _ names: [String]) { #expect(RejectedCertificate.names(list) == names) }

    @Test(arguments: [
        ("No OCSP response received", RejectedCertificate.Rule.stapledResponse),
        ("SSL certificate revocation reason: keyCompromise (1)", .revoked),
        ("SSL certificate status: revoked (1)", .revoked), ("OCSP response has expired", .stapledResponse),
    ])
    func stapledResponses(_ text: String, _ rule: RejectedCertificate.Rule) {
        #expect(RejectedCertificate(badStaple: text).rule == rule)
    }

    @Test(arguments: [
        (CURLE.peerFailedVerification, true), (CURLE.certProblem, true), (CURLE.badStatus, true),
        (CURLE.connect, false),
    ])
    func codes(_ code: Int, _ isOfPeer: Bool) {
        let kind = EngineFailure(.init(UInt32(code)), detail: "x").kind
        switch kind {
        case .untrusted, .clientCertificate: #expect(isOfPeer)
        default: #expect(!isOfPeer)
        }
    }

    /// libcurl's numbers of errors (curl.h).
    private enum CURLE {
        static let connect = 35, certProblem = 58, peerFailedVerification = 60, badStatus = 91
    }

    /// Elements are separated by the lengths in their heads; the rest of a list that is cut short is left out.
    @Test(
        arguments: [
            ([], []), ([0x30, 0], [[0x30, 0]]), ([0x30, 1, 7, 0x30, 2, 8, 9], [[0x30, 1, 7], [0x30, 2, 8, 9]]),
            ([0x30, 0x81, 1, 7, 0x30], [[0x30, 0x81, 1, 7]]), ([0x30, 0x82, 0, 1, 7], [[0x30, 0x82, 0, 1, 7]]),
            ([0x30, 2, 7], []), ([0x30, 0x85, 0, 0, 0, 0, 0], []), ([0x30, 0x82, 1], []),
        ] as [([UInt8], [[UInt8]])])
    func elementsOfDER(_ bytes: [UInt8], _ elements: [[UInt8]]) {
        #expect(RejectedCertificate.elements(bytes) == elements)
    }
}
