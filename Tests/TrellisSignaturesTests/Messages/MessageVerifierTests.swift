import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// The conditions of a response's signature, and what they refuse.
struct MessageVerifierTests {
    private static let body = Data("hello".utf8)
    private static let digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
    private static let usual: [SignatureComponent] = [.status, "content-digest", .targetURI.ofRequest]
    private static let request = Request("https://a.example/p?q=1", method: .post, headers: HTTPFields([("A", "1")]))

    private static let fields = [("Content-Type", "text/plain"), ("Content-Digest", digest)]

    /// Returns the fields with a signature, as a server makes it.
    private static func signed(
        _ components: [SignatureComponent] = usual, key: SignatureKey = sharedKey, created: Int64? = 1_618_884_473,
        _ more: [StructuredParameter] = [], label: String = "sig1", fields: [(String, String)] = fields,
        status: Int = 200
    ) throws -> [(String, String)] {
        var parameters = created.map { [StructuredParameter("created", .integer($0))] } ?? []
        parameters += more
        let input = SignatureInput(components, parameters)
        let message = SignedMessage(try WireRequest(request), response: Response(status, fields))
        let signature = try key.signature(of: Array(try input.base(of: message).utf8))
        return fields + [
            ("Signature-Input", "\(label)=\(input.member.text)"),
            ("Signature", "\(label)=\(StructuredValue.bytes(Data(signature)).text)"),
        ]
    }

    private static func verifier(
        _ components: [SignatureComponent] = usual, key: SignatureKey = sharedKey, seconds: Double = 1_618_884_473
    ) -> MessageVerifier {
        MessageVerifier(requiring: components, key: key, now: { Date(timeIntervalSince1970: seconds) })
    }

    private static func refusal(
        _ fields: [(String, String)], _ verifier: MessageVerifier = verifier(), body: Data? = body, status: Int = 200,
        request: Request = request
    ) async throws -> String? {
        try await verifier.refusal(of: Response(status, fields), to: try WireRequest(request), body)
    }

    @Test func aValidSignatureIsAccepted() async throws {
        #expect(try await Self.refusal(try Self.signed()) == nil)
        #expect(try await Self.refusal(try Self.signed(), Self.verifier([])) == nil)
    }

    @Test func whatWasChangedIsRefused() async throws {
        let fields = try Self.signed()
        #expect(try await Self.refusal(fields, status: 201) == "sig1 is not valid")
        #expect(try await Self.refusal(fields, body: Data("hellp".utf8))?.contains("is not one of the body") == true)
        #expect(try await Self.refusal(fields, body: Data())?.contains("is not one of the body") == true)
        #expect(try await Self.refusal(fields, body: nil)?.contains("a stream has no whole body") == true)
        let other = Request("https://a.example/p?q=2", method: .post)
        #expect(try await Self.refusal(fields, request: other) == "sig1 is not valid")
        let swapped = fields.map { name, value in
            name == "Content-Digest" ? (name, "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:") : (name, value)
        }
        #expect(try await Self.refusal(swapped, body: Data()) == "sig1 is not valid")
        // What is not covered may change.
        #expect(try await Self.refusal(fields + [("X-Other", "1")]) == nil)
        #expect(try await Self.refusal(fields + [("Content-Digest", "a=1")]) == "sig1 is not valid")
    }

    /// A digest that the signature does not cover says nothing.
    @Test func aMemberThatIsNotCoveredDoesNotCount() async throws {
        let digests = [("Content-Digest", "md5=:XUFAKrxLKna5cZ2REBfFkg==:")]
        let components: [SignatureComponent] = [.status, .field("content-digest").member("md5")]
        let fields = try Self.signed(components, fields: digests)
        #expect(try await Self.refusal(fields, Self.verifier(components))?.contains("no digest") == true)
        let added = fields.map { name, value in
            name == "Content-Digest" ? (name, "\(value), \(Self.digest)") : (name, value)
        }
        #expect(try await Self.refusal(added, Self.verifier(components))?.contains("no digest") == true)
    }

    @Test func theTimesCount() async throws {
        let fields = try Self.signed([.status], [StructuredParameter("expires", .integer(1_618_884_573))])
        let ages: [(Double, String?)] = [
            (1_618_884_473, nil), (1_618_884_572.9, nil), (1_618_884_573, "sig1 has expired"), (1_618_884_413, nil),
            (1_618_884_412, "sig1 is from the future"),
        ]
        for (now, reason) in ages {
            #expect(try await Self.refusal(fields, Self.verifier([.status], seconds: now)) == reason, "\(now)")
        }
        let plain = try Self.signed([.status])
        #expect(try await Self.refusal(plain, Self.verifier([.status], seconds: 1_618_884_773)) == nil)
        #expect(try await Self.refusal(plain, Self.verifier([.status], seconds: 1_618_884_774)) == "sig1 is too old")
        let timeless = try Self.signed([.status], created: nil)
        #expect(try await Self.refusal(timeless, Self.verifier([.status])) == "sig1 does not say when it was made")
        var patient = Self.verifier([.status])
        (patient.maximumAge, patient.clockSkew) = (nil, .seconds(Int64.max))
        #expect(try await Self.refusal(timeless, patient) == nil)
        #expect(try await Self.refusal(try Self.signed([.status], created: -999_999_999_999_999), patient) == nil)
    }

    @Test func whatIsRequiredIsCovered() async throws {
        let fields = try Self.signed([.status])
        #expect(try await Self.refusal(fields) == "sig1 does not cover \"content-digest\"")
        #expect(try await Self.refusal(fields, Self.verifier([.field("status")])) != nil)
        let ofRequest = try Self.signed([.status, .field("a").ofRequest])
        #expect(try await Self.refusal(ofRequest, Self.verifier(["a"])) == "sig1 does not cover \"a\"")
        #expect(try await Self.refusal(ofRequest, Self.verifier([.field("a").ofRequest])) == nil)
    }

    @Test func theKeyIsTheOneOfTheSigner() async throws {
        let named = try Self.signed([.status], [StructuredParameter("keyid", .string("test-shared-secret"))])
        #expect(try await Self.refusal(named, Self.verifier([.status])) == nil)
        let other = try Self.signed([.status], [StructuredParameter("keyid", .string("other"))])
        #expect(try await Self.refusal(other, Self.verifier([.status])) == "sig1 has no known key")
        let stranger = try Self.signed([.status], key: .hmac([1, 2, 3]))
        #expect(try await Self.refusal(stranger, Self.verifier([.status])) == "sig1 is not valid")
        let wrong = try Self.signed([.status], [StructuredParameter("alg", .string("ed25519"))])
        #expect(try await Self.refusal(wrong, Self.verifier([.status])) == "sig1 is by another algorithm than its key")
        // The public key's text as a secret, as in attacks on tokens.
        let confused = try Self.signed(
            [.status], key: .hmac(Array(RFCKeys.ed25519Public.utf8)),
            [StructuredParameter("alg", .string("hmac-sha256"))])
        let ed25519 = try SignatureKey.pem(RFCKeys.ed25519Public)
        #expect(try await Self.refusal(confused, Self.verifier([.status], key: ed25519)) != nil)
    }

    @Test func theClosureGetsTheParameters() async throws {
        let more = [
            StructuredParameter("keyid", .string("k")), StructuredParameter("nonce", .string("n")),
            StructuredParameter("tag", .string("t")), StructuredParameter("x", .token("y")),
        ]
        let fields = try Self.signed([.status], more, label: "a")
        let seen = Locked<[SignatureParameters]>([])
        let verifier = MessageVerifier(requiring: [.status], now: { exampleTime }) { parameters in
            seen.withLock { $0.append(parameters) }
            return parameters.keyID == "k" ? sharedKey : nil
        }
        #expect(try await Self.refusal(fields, verifier) == nil)
        let parameters = try #require(seen.withLock { $0 }.first)
        #expect(parameters.label == "a" && parameters.nonce == "n" && parameters.tag == "t")
        #expect(parameters.created == 1_618_884_473 && parameters.expires == nil && parameters.algorithm == nil)
    }

    /// A nonce that anybody may send must not count as used.
    @Test func theProgramIsAskedLast() async throws {
        let nonce = [StructuredParameter("nonce", .string("n"))]
        let used = Locked<[String]>([])
        var verifier = Self.verifier([.status])
        verifier.acceptance = { parameters in
            used.withLock { used in
                guard let nonce = parameters.nonce, !used.contains(nonce) else { return false }
                used.append(nonce)
                return true
            }
        }
        #expect(
            try await Self.refusal(try Self.signed([.status], key: .hmac([1]), nonce), verifier) == "sig1 is not valid")
        let digest = try Self.signed([.status, "content-digest"], nonce)
        #expect(try await Self.refusal(digest, verifier, body: Data()) != nil)
        #expect(used.withLock { $0 } == [])
        #expect(try await Self.refusal(digest, verifier) == nil)
        #expect(try await Self.refusal(digest, verifier) == "sig1 was refused by the program")
    }

    @Test func oneOfSeveralIsEnough() async throws {
        let bad = try Self.signed([.status], key: .hmac([1]), label: "bad")
        let good = try Self.signed([.status], [StructuredParameter("tag", .string("t"))], label: "good", fields: [])
        let both = bad + good
        #expect(try await Self.refusal(both, Self.verifier([.status])) == nil)
        var verifier = Self.verifier([.status])
        verifier.label = "bad"
        #expect(try await Self.refusal(both, verifier) == "bad is not valid")
        verifier.label = "missing"
        #expect(try await Self.refusal(both, verifier) == "there is none")
        verifier = Self.verifier([.status])
        verifier.tag = "t"
        #expect(try await Self.refusal(both, verifier) == nil)
        verifier.tag = "u"
        #expect(try await Self.refusal(both, verifier) == "there is none")
    }

    @Test func whatIsMalformedIsRefused() async throws {
        let rows: [[(String, String)]] = [
            [], [("Signature-Input", "sig1=()")], [("Signature", "sig1=:AA==:")],
            [("Signature-Input", "sig1=,"), ("Signature", "sig1=:AA==:")],
            [("Signature-Input", "sig1=()"), ("Signature", "sig1=:AA")],
            [("Signature-Input", "sig1=()"), ("Signature", "sig1=aa")],
            [("Signature-Input", "sig1=1"), ("Signature", "sig1=:AA==:")],
            [("Signature-Input", "sig1=();created=\"1\""), ("Signature", "sig1=:AA==:")],
            [("Signature-Input", "sig1=();keyid=1"), ("Signature", "sig1=:AA==:")],
            [("Signature-Input", "sig1=(\"@signature-params\")"), ("Signature", "sig1=:AA==:")],
            [("Signature-Input", "sig1=();created=1618884473"), ("Signature", "sig1=::")],
            [("Signature-Input", (0..<9).map { "s\($0)=()" }.joined(separator: ", ")), ("Signature", "s0=:AA==:")],
        ]
        let many = (0..<65).map { SignatureComponent.field("a\($0)") }
        let wide = (0..<65).map { ("A\($0)", "1") }
        #expect(
            try await Self.refusal(try Self.signed(many, fields: wide), Self.verifier([])) == "sig1 covers too much")
        for row in rows { #expect(try await Self.refusal(row, Self.verifier([])) != nil, "\(row)") }
    }

    @Test func theValidatorThrowsTheError() async throws {
        let verifier = Self.verifier()
        let response = Response(200, try Self.signed())
        try await Validator.messageSignature(verifier).check(
            Answer(request: Self.request, response: response, body: Self.body))
        let error = await #expect(throws: TrellisError.self) {
            try await Validator.messageSignature(verifier).check(
                Answer(request: Self.request, response: response, body: Data("other".utf8)))
        }
        #expect(error?.kind == .unacceptableSignature && error?.isRetryable == false)
    }
}
