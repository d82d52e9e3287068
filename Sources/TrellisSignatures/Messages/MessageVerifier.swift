import CurlEngine
public import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// The conditions of the signature that a response has to have (RFC 9421, section 3.2).
///
/// ```swift
/// let verifier = MessageVerifier(requiring: [.status, "content-digest", .targetURI.ofRequest], key: serverKey)
/// let account = try await session.request(url).validate(.messageSignature(verifier)).decode(Account.self)
/// ```
///
/// One signature that meets all conditions is enough. A covered `content-digest` is compared with the body; without it, a signature says
/// nothing about the body.
public struct MessageVerifier: Sendable {
    /// A closure that returns the key of a signature; `nil` if the signature is not to be trusted.
    ///
    /// It gets what the signer says about itself, before the signature is checked: a nonce is remembered by
    /// ``MessageVerifier/acceptance`` alone.
    public typealias Keys = @Sendable (SignatureParameters) async throws -> SignatureKey?

    /// What the signature has to cover at least.
    public var requiredComponents: [SignatureComponent]
    /// The age from which a signature is refused; five minutes by default. If it is `nil`, a signature needs no time.
    public var maximumAge: Duration? = .seconds(300)
    /// The time that a signer's clock may be ahead; one minute by default.
    public var clockSkew: Duration = .seconds(60)
    /// The name of the application that the signature must be for, if any.
    public var tag: String?
    /// The name of the only signature that counts; any by default.
    public var label: String?
    /// The types of structured fields that are signed in their strict form, by their names in lower case, beside the registered ones.
    public var structuredFields: [String: StructuredFieldType] = [:]
    /// A closure that is asked last, about a signature that is valid and meets all other conditions. It returns `false` to refuse the
    /// signature, for example because its nonce was used before. `nil` by default: each such signature is accepted.
    public var acceptance: (@Sendable (SignatureParameters) async throws -> Bool)?
    private let keys: Keys
    private let now: @Sendable () -> Date

    /// The number of signatures of one message that are looked at.
    private static let limit = 8
    /// The number of components of a signature that are read: each of them may parse a whole field.
    private static let componentLimit = 64

    /// Creates the conditions.
    ///
    /// - Parameters:
    ///   - components: What the signature has to cover at least.
    ///   - now: The clock.
    ///   - keys: The closure that returns the key of a signature.
    public init(
        requiring components: [SignatureComponent], now: @escaping @Sendable () -> Date = { Date() },
        keys: @escaping Keys
    ) {
        (requiredComponents, self.now, self.keys) = (components, now, keys)
    }

    /// Creates the conditions of signatures that one key has made.
    ///
    /// - Parameters:
    ///   - components: What the signature has to cover at least.
    ///   - key: The key. If it has an ``SignatureKey/id``, the signature must have the same or none.
    ///   - now: The clock.
    public init(
        requiring components: [SignatureComponent], key: SignatureKey,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(requiring: components, now: now) { signature in
            guard let id = key.id, let named = signature.keyID else { return key }
            return id.hasSameBytes(as: named) ? key : nil
        }
    }

    /// Returns why a response has no signature that meets the conditions; `nil` if it has one.
    func refusal(of response: Response, to request: WireRequest, _ body: Data?) async throws -> String? {
        guard let inputs = StructuredDictionary(parsing: response.headers.lines("Signature-Input")),
            let signatures = StructuredDictionary(parsing: response.headers.lines("Signature"))
        else { return "its fields are malformed" }
        let message = SignedMessage(request, response: response, types: structuredFields)
        let members = inputs.members.filter { member in label.map { member.key.hasSameBytes(as: $0) } ?? true }
        guard members.count <= Self.limit else { return "there are more than \(Self.limit)" }
        var reason: String?
        for (name, member) in members {
            guard let input = SignatureInput(member), let known = SignatureParameters(label: name, input.parameters),
                case .item(let item)? = signatures[name], case .bytes(let signature) = item.value
            else {
                reason = reason ?? "\(name) is malformed"
                continue
            }
            if let tag, !(known.tag ?? "").hasSameBytes(as: tag) { continue }
            let candidate = Candidate(input: input, parameters: known, signature: Array(signature))
            guard let refusal = try await refusal(of: candidate, message, body) else { return nil }
            reason = reason ?? "\(name) \(refusal)"
        }
        return reason ?? "there is none"
    }

    private struct Candidate {
        let input: SignatureInput
        let parameters: SignatureParameters
        let signature: [UInt8]
    }

    private func refusal(of candidate: Candidate, _ message: SignedMessage, _ body: Data?) async throws -> String? {
        guard candidate.input.components.count <= Self.componentLimit else { return "covers too much" }
        if let missing = requiredComponents.first(where: { !candidate.input.covers($0) }) {
            return "does not cover \(missing.item.text)"
        }
        if let reason = refusal(ofTimes: candidate.parameters) { return reason }
        guard let key = try await keys(candidate.parameters) else { return "has no known key" }
        // A signer that chooses the algorithm could choose a weak one for a strong key (RFC 9421, section 7.3.6).
        guard candidate.parameters.algorithm?.hasSameBytes(as: key.algorithm.rawValue) ?? true else {
            return "is by another algorithm than its key"
        }
        do throws(SignedMessage.Failure) {
            let base = try candidate.input.base(of: message)
            guard key.isSignature(candidate.signature, of: Array(base.utf8)) else { return "is not valid" }
        } catch {
            return "cannot be checked: \(error.reason)"
        }
        if let reason = try candidate.input.mismatch(message, body) { return reason }
        return try await acceptance?(candidate.parameters) ?? true ? nil : "was refused by the program"
    }

    private func refusal(ofTimes parameters: SignatureParameters) -> String? {
        let now = self.now().wholeSeconds
        if let expires = parameters.expires, now >= expires { return "has expired" }
        if let created = parameters.created, created > now + clockSkew.wholeSeconds { return "is from the future" }
        guard let maximumAge else { return nil }
        guard let created = parameters.created else { return "does not say when it was made" }
        return now - created > maximumAge.wholeSeconds ? "is too old" : nil
    }
}

extension SignatureInput {
    /// Returns why the body has another digest than the covered one; `nil` if it has it, or none is covered.
    fileprivate func mismatch(_ message: SignedMessage, _ body: Data?) throws(TrellisError) -> String? {
        guard let response = message.response, response.mayHaveBody(after: message.request.method) else { return nil }
        for component in components where component.name == "content-digest" && !component.has("req") {
            let fields = component.has("tr") ? response.trailers : response.headers
            var key: String?
            if case .string(let text)? = component.parameters["key"] { key = text }
            let digests = ContentDigests(fields.lines("Content-Digest"), key: key)
            guard let body else { return "covers a digest, and a stream has no whole body" }
            if digests.isEmpty { return "covers no digest that can be compared" }
            if let reason = try digests.mismatch(body) { return "is not one of the body: \(reason)" }
        }
        return nil
    }
}

extension Validator {
    /// Returns a validator that accepts a response with a valid signature (RFC 9421).
    ///
    /// The error is of kind ``/Trellis/TrellisError/Kind/unacceptableSignature``. An error that a closure of the verifier throws is not
    /// changed.
    ///
    /// - Parameter verifier: The conditions of the signature.
    public static func messageSignature(_ verifier: MessageVerifier) -> Validator {
        Validator { request, response, body in
            let wire = try WireRequest(request)
            guard let reason = try await verifier.refusal(of: response, to: wire, body) else { return }
            throw TrellisError(.validationFailed(.signature(reason)), of: request, response: response)
        }
    }
}
