import CurlEngine
public import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// A step that signs each request with a shared secret, in one field, as webhooks do.
///
/// ```swift
/// let signer = HMACSigner(
///     secret: secret, field: "X-Signature", covering: [.timestamp, ".", .method, " ", .target, "\n", .body],
///     value: ["t=", .timestamp, ",v1=", .signature])
/// configuration.steps.signers.append(signer)
/// ```
///
/// What is covered is joined without anything in between: put separators there yourself, so that two requests never have the same text.
public struct HMACSigner: RequestSigner, RedactedDescription {
    /// A part of what is signed, or of the field's value.
    public enum Part: Sendable, Hashable, ExpressibleByStringLiteral {
        /// A text as it is. A literal is one.
        case text(String)
        /// The method.
        case method
        /// The host, and a port other than the scheme's.
        case authority
        /// The path and the query, as they are sent.
        case target
        /// The path, as it is sent.
        case path
        /// The query without its question mark, as it is sent; nothing without a query.
        case query
        /// The lines of a field with commas between them; nothing without the field.
        case field(String)
        /// The bytes of the body; none without a body.
        case body
        /// The hash of the body, in hexadecimal digits.
        case bodyHash
        /// The seconds since 1970.
        case timestamp
        /// The signature. In the field's value alone.
        case signature

        /// Creates a text.
        public init(stringLiteral text: String) { self = .text(text) }
    }

    /// The text of the signature's bytes.
    public enum Encoding: Sendable, Hashable {
        /// Hexadecimal digits in lower case.
        case hexadecimal
        /// Base64 with padding (RFC 4648, section 4).
        case base64
        /// Base64 for URLs, without padding (RFC 4648, section 5).
        case base64URL
    }

    /// A hash function.
    public enum Hash: Sendable, Hashable {
        /// SHA-256.
        case sha256
        /// SHA-512.
        case sha512
    }

    private let secret: [UInt8]
    /// The name of the field.
    public var field: String
    /// What is signed, in this order.
    public var covered: [Part]
    /// The value of the field.
    public var value: [Part]
    /// The hash function; SHA-256 by default.
    public var hash = Hash.sha256
    /// The text of the signature; ``Encoding/hexadecimal`` by default.
    public var encoding = Encoding.hexadecimal
    /// The largest body that is signed as it is, in bytes; 16 MiB by default. ``Part/bodyHash`` has no limit.
    public var maximumBodySize = 16 << 20
    private let now: @Sendable () -> Date

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - secret: The secret. An empty one signs nothing.
    ///   - field: The name of the field.
    ///   - covered: What is signed.
    ///   - value: The value of the field; the signature alone by default.
    ///   - now: The clock.
    public init(
        secret: some Sequence<UInt8>, field: String, covering covered: [Part], value: [Part] = [.signature],
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        (self.secret, self.field, self.covered, self.value, self.now) = (Array(secret), field, covered, value, now)
    }

    /// Sets the field.
    ///
    /// - Throws: ``/Trellis/TrellisError`` of kind ``/Trellis/TrellisError/Kind/invalidRequest`` for an empty secret, a body that is too
    ///   large or can be read only once, and a signature that covers itself; of kind
    ///   ``/Trellis/TrellisError/Kind/unsupported`` without OpenSSL.
    public func sign(_ request: inout WireRequest, context: CallContext) async throws {
        try await sign(&request)
    }

    func sign(_ request: inout WireRequest) async throws {
        guard !secret.isEmpty else { throw TrellisError.unsigned("the secret is empty") }
        request.headers[field] = nil
        let seconds = "\(now().wholeSeconds)"
        var bytes: [UInt8] = []
        for part in covered {
            guard part != .signature else { throw TrellisError.unsigned("a signature cannot cover itself") }
            bytes += try await self.bytes(of: part, in: request, seconds)
        }
        guard let code = MessageAuthenticationCode.code(bytes, key: secret, function) else {
            throw TrellisError.noSHA256
        }
        var text: [UInt8] = []
        for part in value {
            text +=
                try await part == .signature ? Array(encoded(code).utf8) : self.bytes(of: part, in: request, seconds)
        }
        request.headers[field] = String(decoding: text, as: UTF8.self)
    }

    private var function: MessageDigest.Algorithm {
        switch hash {
        case .sha256: .sha256
        case .sha512: .sha512
        }
    }

    private func encoded(_ code: [UInt8]) -> String {
        let base64 = Data(code).base64EncodedString()
        return switch encoding {
        case .hexadecimal: Hexadecimal.text(code)
        case .base64: base64
        case .base64URL:
            base64.replacing(byte: "+", with: "-").replacing(byte: "/", with: "_").replacing(byte: "=", with: "")
        }
    }

    private func bytes(of part: Part, in request: WireRequest, _ seconds: String) async throws -> [UInt8] {
        switch part {
        case .text(let text): return Array(text.utf8)
        case .method: return Array(request.method.rawValue.utf8)
        case .authority: return Array(request.authority.utf8)
        case .target: return Array(request.target.utf8)
        case .path: return Array(request.path.utf8)
        case .query: return Array((request.query ?? "").utf8)
        case .field(let name):
            let fields = request.headers.filter { $0.name.canonicalName.hasSameToken(as: name) }
            return Array(fields.map(\.sentOctets).joined(separator: Array(", ".utf8)))
        case .body: return [UInt8](try await request.body?.collect(upTo: maximumBodySize) ?? Data())
        case .bodyHash: return try await Array(bodyHash(of: request).utf8)
        case .timestamp: return Array(seconds.utf8)
        case .signature: return []
        }
    }

    private func bodyHash(of request: WireRequest) async throws -> String {
        guard let body = request.body else { return Hexadecimal.text(MessageDigest.bytes([UInt8](), function) ?? []) }
        guard body.isReplayable else { throw TrellisError(.bodyFailed(.notReplayable)) }
        guard let hash = try await body.hash(function) else { throw TrellisError.noSHA256 }
        return Hexadecimal.text(hash)
    }
}

extension HMACSigner {
    /// Returns a signer of webhooks as GitHub sends them: `X-Hub-Signature-256: sha256=…` over the body.
    public static func gitHub(secret: some Sequence<UInt8>) -> HMACSigner {
        HMACSigner(
            secret: secret, field: "X-Hub-Signature-256", covering: [.body], value: ["sha256=", .signature])
    }

    /// Returns a signer of webhooks as Stripe sends them: `Stripe-Signature: t=…,v1=…` over the time and the body.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - now: The clock.
    public static func stripe(
        secret: some Sequence<UInt8>, now: @escaping @Sendable () -> Date = { Date() }
    ) -> HMACSigner {
        HMACSigner(
            secret: secret, field: "Stripe-Signature", covering: [.timestamp, ".", .body],
            value: ["t=", .timestamp, ",v1=", .signature], now: now)
    }
}
