import CurlEngine
import Testing

@testable import TrellisCore

/// The proofs for requests for a tunnel, which the session makes instead of libcurl.
struct ProxyProofsTests {
    private static let target = "far.example:443"

    private static func proofs(_ password: String = #"Secret, or "not"%2F%?"#) -> ProxyProofs {
        let credentials = EngineConfiguration.ProxyServer.Credentials(
            username: "J\u{e4}s\u{f8}n", password: password, isDigest: true)
        return ProxyProofs(credentials, makeNonce: { "c0" })
    }

    private static func challenge(_ nonce: String, _ parameters: String = "") -> String {
        #"Digest realm="a \"r\"", nonce="\#(nonce)", qop="auth", algorithm=SHA-256\#(parameters)"#
    }

    /// The responses are computed by another program.
    @Test(arguments: [
        ("MD5", "auth", "ef31341095e19a50914ef64fdfcf66c1"),
        ("MD5", "auth-int", "fe6491c9094cea9d236d5708a34a4e56"),
        ("MD5", "", "afd943c529ef3834ef2dc5f439bd6f1b"),
        ("MD5-sess", "auth", "c159fc4cab15ea510cd4ccca74ce9d89"),
        ("MD5-sess", "auth-int", "d194249f78aeb25c472375a608e7cf1c"),
        ("SHA-256", "auth", "e54003889482b58e854d14939622a85cb70488ec8cec8bcbabd48d4f634076e6"),
        ("SHA-256", "auth-int", "971cb562855bf9321b289c55735b53b88746f01439b71483267e440ba6c8c091"),
        ("SHA-256", "", "85447770065e71b0fb8db9180020a667109c70c74b6ab5691bbf6a0e8f009ad5"),
        ("SHA-256-sess", "auth", "0086e5f0cc2121e2d16d26dba49b29f410c79801dbac2c2ce82eeffb55bb7597"),
        ("SHA-256-sess", "auth-int", "30315382ab80ab3104d6297f47bd6fd244c5654e01ea0d66f65c7760a616dcf0"),
    ])
    func theProofCoversTheTarget(_ algorithm: String, _ protection: String, _ response: String) throws {
        let proofs = Self.proofs()
        let quality = protection.isEmpty ? "" : #", qop="\#(protection)""#
        let challenge = #"Digest realm="a \"r\"", nonce="n1", algorithm=\#(algorithm)\#(quality)"#
        #expect(proofs.canAnswer([challenge], after: nil, isFirst: true))
        let proof = try #require(proofs.proof(for: Self.target))
        #expect(proof.nonce == "n1" && proof.field.hasPrefix("Digest username=\"J\u{e4}s\u{f8}n\", "))
        #expect(proof.field.contains(#"realm="a \"r\"", nonce="n1", uri="far.example:443", "#))
        #expect(proof.field.contains("response=\"\(response)\""), "\(proof.field)")
        #expect(proof.field.contains("nc=00000001") == !protection.isEmpty)
    }

    @Test func theNameIsHashedIfTheProxyWantsIt() throws {
        let proofs = Self.proofs()
        #expect(proofs.canAnswer([Self.challenge("n1", ", userhash=true")], after: nil, isFirst: true))
        let field = try #require(proofs.proof(for: Self.target)).field
        let user = "078181a4bb02f64c877d907aa8a088b3c2bb0e45ef6ae502f189bcaad90185d3"
        #expect(field.hasPrefix("Digest username=\"\(user)\", ") && field.hasSuffix(", userhash=true"))
    }

    /// Each proof has a count of its own, which begins again with another nonce.
    @Test func theCountRises() throws {
        let proofs = Self.proofs()
        #expect(proofs.proof(for: Self.target) == nil)
        #expect(proofs.canAnswer([Self.challenge("n1")], after: nil, isFirst: true))
        let first = try #require(proofs.proof(for: Self.target))
        let second = try #require(proofs.proof(for: "[::1]:80"))
        #expect(first.field.contains(", nc=00000001, ") && second.field.contains(", nc=00000002, "))
        #expect(
            second.field.contains(
                #"response="7728fc265f3d058151f6ac7f4c1f0148327790c1da375ae5515d2b6cccddb8ed""#))
        // Another transfer was refused with the same nonce before it had a proof.
        #expect(proofs.canAnswer([Self.challenge("n1")], after: nil, isFirst: true))
        #expect(proofs.proof(for: Self.target)?.field.contains(", nc=00000003, ") == true)
        #expect(proofs.canAnswer([Self.challenge("n2", ", stale=true")], after: second, isFirst: false))
        let next = try #require(proofs.proof(for: Self.target))
        #expect(next.nonce == "n2" && next.field.contains(", nc=00000001, "))
    }

    /// A proof that was refused is made again only if its nonce was out of date; the refused challenge is forgotten.
    @Test(arguments: [
        ("n2", "", true, true), ("n2", "", false, false), ("n2", ", stale=true", false, true),
        ("n1", ", stale=TRUE", false, true), ("n1", "", true, false), ("n2", ", stale=false", false, false),
    ])
    func aRefusedProof(_ nonce: String, _ parameters: String, _ isFirst: Bool, _ isAnswered: Bool) throws {
        let proofs = Self.proofs()
        #expect(proofs.canAnswer([Self.challenge("n1")], after: nil, isFirst: true))
        let proof = try #require(proofs.proof(for: Self.target))
        let challenge = Self.challenge(nonce, parameters)
        #expect(proofs.canAnswer([challenge], after: proof, isFirst: isFirst) == isAnswered)
        #expect(proofs.proof(for: Self.target)?.nonce == (isAnswered ? nonce : nil))
    }

    @Test(
        arguments: [
            [], ["Basic realm=\"r\""], ["Digest realm=\"r\""], ["Digest realm=\"r\", nonce=\"n\", algorithm=SHA-9000"],
            ["Digest realm=\"r\", nonce=\"n\", qop=\"other\""], ["Digest realm=\"r, nonce=\"n\""], [""],
        ] as [[String]])
    func nothingToAnswer(_ challenges: [String]) {
        let proofs = Self.proofs()
        #expect(!proofs.canAnswer(challenges, after: nil, isFirst: true))
        #expect(proofs.proof(for: Self.target) == nil)
    }

    /// The first challenge with an algorithm that is known counts.
    @Test func theFirstKnownChallengeCounts() {
        let proofs = Self.proofs()
        let others = ["Basic realm=\"b\", Digest realm=\"a\", nonce=\"n0\", algorithm=SHA-9000", "Negotiate YQ=="]
        #expect(proofs.canAnswer(others + [Self.challenge("n1")], after: nil, isFirst: true))
        #expect(proofs.proof(for: Self.target)?.nonce == "n1")
    }

    @Test func itsDescriptionHasNoSecret() {
        let proofs = Self.proofs("t0pSecret")
        for text in ["\(proofs)", String(reflecting: proofs), "\(Mirror(reflecting: proofs).children.map(\.value))"] {
            #expect(!text.contains("t0pSecret"))
        }
    }
}
