import CurlEngine
public import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// A step that signs each request (HTTP Message Signatures, RFC 9421).
///
/// ```swift
/// let key = try SignatureKey.pem(pem, id: "client-2026")
/// configuration.steps.signers.append(MessageSigner(key: key))
/// ```
///
/// The request gets a member in each of `Signature-Input` and `Signature`, beside other signers', and `Content-Digest` if it has a
/// body. Nothing but what is on the wire is signed: see ``/Trellis/RequestSigner``.
public struct MessageSigner: RequestSigner {
    /// The key.
    public var key: SignatureKey
    /// What is signed; ``SignatureComponent/method`` and ``SignatureComponent/targetURI`` by default. A component that the request does not
    /// have is an error.
    public var components: [SignatureComponent]
    /// What is signed too where the request has it: by default `content-digest`, `content-type` and `authorization`. One that cannot be
    /// signed, such as a field with other bytes than ASCII, is an error.
    public var optionalComponents: [SignatureComponent] = ["content-digest", "content-type", "authorization"]
    /// The digest that is added to a request with a body; `nil` if none is, for example because the body can be read only once. The
    /// signature does not cover the body then.
    public var contentDigest: ContentDigestSigner? = ContentDigestSigner()
    /// The name of the signature in its message, in lower case (RFC 9651, section 3.1.2).
    public var label = "sig1"
    /// The time until the signature expires (`expires`), in whole seconds; `nil` if it does not.
    public var lifetime: Duration?
    /// Whether each signature has 24 random characters (`nonce`), so that a server can refuse the second use.
    public var hasNonce = false
    /// Whether the name of the algorithm is sent (`alg`). A server that knows the key knows its algorithm.
    public var namesAlgorithm = false
    /// The name of the application that the signature is for (`tag`), if any.
    public var tag: String?
    /// The types of structured fields that are signed in their strict form, by their names in lower case, beside the registered ones.
    public var structuredFields: [String: StructuredFieldType] = [:]
    private let now: @Sendable () -> Date
    private let makeNonce: @Sendable () -> String

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: The key, which can sign.
    ///   - components: What is signed.
    ///   - now: The clock.
    public init(
        key: SignatureKey, components: [SignatureComponent] = [.method, .targetURI],
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(key: key, components: components, now: now) {
            var random = SecureRandom()
            return Data(random.bytes(18)).base64EncodedString()
        }
    }

    init(
        key: SignatureKey, components: [SignatureComponent], now: @escaping @Sendable () -> Date,
        nonce: @escaping @Sendable () -> String
    ) {
        (self.key, self.components, self.now, makeNonce) = (key, components, now, nonce)
    }

    /// Adds the signature.
    ///
    /// - Throws: ``/Trellis/TrellisError`` of kind ``/Trellis/TrellisError/Kind/invalidRequest`` if a component is missing or is not ASCII,
    ///   the key cannot sign, or the label is taken; of kind ``/Trellis/TrellisError/Kind/unsupported`` without OpenSSL; the errors of
    ///   ``ContentDigestSigner``.
    public func sign(_ request: inout WireRequest, context: CallContext) async throws {
        if let contentDigest { try await contentDigest.sign(&request) }
        try sign(&request)
    }

    func sign(_ request: inout WireRequest) throws(TrellisError) {
        let message = SignedMessage(request, types: structuredFields)
        let parameters = try parameters()
        let (input, base): (SignatureInput, String)
        do throws(SignedMessage.Failure) {
            input = SignatureInput(components + (try others(in: message)), parameters)
            base = try input.base(of: message)
        } catch {
            throw .unsigned(error.reason)
        }
        let signature = Data(try key.signature(of: Array(base.utf8)))
        try add(input.member, to: &request, "Signature-Input")
        try add(.item(StructuredItem(.bytes(signature))), to: &request, "Signature")
    }

    /// Returns the optional components that a message has, and that are not signed anyway.
    private func others(in message: SignedMessage) throws(SignedMessage.Failure) -> [SignatureComponent] {
        var others: [SignatureComponent] = []
        for other in optionalComponents where !components.contains(where: { $0.sorted == other.sorted }) {
            if try message.has(other) { others.append(other) }
        }
        return others
    }

    private func parameters() throws(TrellisError) -> [StructuredParameter] {
        let created = now().wholeSeconds
        var parameters = [StructuredParameter("created", .integer(created))]
        if let lifetime {
            parameters.append(StructuredParameter("expires", .integer(created + lifetime.wholeSeconds)))
        }
        let texts = [
            ("keyid", key.id), ("alg", namesAlgorithm ? key.algorithm.rawValue : nil),
            ("nonce", hasNonce ? makeNonce() : nil), ("tag", tag),
        ]
        for case (let name, let text?) in texts {
            guard StructuredValue.isString(text) else {
                throw .unsigned("the parameter \(name) is not printable ASCII")
            }
            parameters.append(StructuredParameter(name, .string(text)))
        }
        return parameters
    }

    /// Adds a member to a field, after the signatures of other signers.
    private func add(_ member: StructuredMember, to request: inout WireRequest, _ name: String) throws(TrellisError) {
        let lines = request.headers[name].map { [$0] } ?? []
        guard var dictionary = StructuredDictionary(parsing: lines) else {
            throw .unsigned("the field \(name) of the request is malformed")
        }
        guard StructuredDictionary.isKey(label), dictionary[label] == nil else {
            throw .unsigned("the label \(label) is taken, or cannot be one")
        }
        dictionary[label] = member
        request.headers[name] = dictionary.text
    }
}
