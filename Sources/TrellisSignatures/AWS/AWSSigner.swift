import CurlEngine
public import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// A step that signs each request with AWS Signature Version 4.
///
/// ```swift
/// let signer = AWSSigner(region: "eu-central-1", service: "s3") {
///     AWSCredentials(accessKeyID: id, secretAccessKey: secret)
/// }
/// configuration.steps.signers.append(signer)
/// ```
///
/// The signature covers the method, the path, the query, the host, the body by its hash, and the fields, apart from ``unsignedFields``. It
/// is in `Authorization`, which replaces another one. ``presignedURL(for:expiringAfter:)`` puts it into a URL that others may use.
public struct AWSSigner: RequestSigner {
    /// A closure that returns the credentials, for each signature: those that are temporary may have changed.
    public typealias Credentials = @Sendable () async throws -> AWSCredentials

    /// The form of a path in which it is signed.
    public enum PathRule: Sendable, Hashable {
        /// The path without dots and empty segments, encoded once more than it is sent.
        case general
        /// The path as it is, encoded once: for Amazon S3, whose names of objects may have any segments.
        case s3
    }

    /// How the body is signed.
    public enum Payload: Sendable, Hashable {
        /// By its hash. The body is read once more for that.
        case signed
        /// Not at all (`UNSIGNED-PAYLOAD`): for bodies that can be read only once, over TLS. S3 and few other services take it.
        case unsigned
        /// In chunks with a signature each (`STREAMING-AWS4-HMAC-SHA256-PAYLOAD`), for Amazon S3. The body is read once, while it is sent,
        /// and its length must be known. A chunk has 8 KiB to 16 MiB. A checksum is sent after the last chunk
        /// (`STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER`).
        case chunked(size: Int = 64 << 10, checksum: AWSChecksum? = nil)
    }

    /// The region, such as `eu-central-1`.
    public var region: String
    /// The service as in its scope, such as `s3` or `execute-api`.
    public var service: String
    /// How the body is signed; ``Payload/signed`` by default.
    public var payload = Payload.signed
    /// The form of the path; ``PathRule/s3`` for services of S3, else ``PathRule/general``.
    public var pathRule: PathRule
    /// Whether the hash of the body is sent too (`X-Amz-Content-SHA256`), which services of S3 ask for. It always is where it is not a
    /// hash.
    public var sendsPayloadHash: Bool
    /// The names of fields that are not signed, in lower case: by default those that proxies change or that say nothing about the request.
    public var unsignedFields: Set<String> = [
        "accept", "accept-encoding", "accept-language", "authorization", "baggage", "traceparent", "tracestate",
        "user-agent", "via", "x-amzn-trace-id", "x-forwarded-for",
    ]
    let credentials: Credentials
    let now: @Sendable () -> Date

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - region: The region.
    ///   - service: The service as in its scope.
    ///   - now: The clock. A server refuses signatures whose time differs from its own by more than some minutes.
    ///   - credentials: The closure that returns the credentials.
    public init(
        region: String, service: String, now: @escaping @Sendable () -> Date = { Date() },
        credentials: @escaping Credentials
    ) {
        let isS3 = ["s3", "s3express", "s3-outposts", "s3-object-lambda"].contains(service)
        (self.region, self.service, self.now, self.credentials) = (region, service, now, credentials)
        (pathRule, sendsPayloadHash) = (isS3 ? .s3 : .general, isS3)
    }

    /// Adds the signature.
    ///
    /// - Throws: The errors of the closure for credentials; ``/Trellis/TrellisError`` of kind
    ///   ``/Trellis/TrellisError/Kind/bodyNotReplayable`` for a body that would have to be read twice; of kind
    ///   ``/Trellis/TrellisError/Kind/invalidRequest`` for chunks of a body without a known length; of kind
    ///   ``/Trellis/TrellisError/Kind/unsupported`` without SHA-256; the errors of the body.
    public func sign(_ request: inout WireRequest, context: CallContext) async throws {
        try await sign(&request)
    }

    func sign(_ request: inout WireRequest) async throws {
        let credentials = try await credentials()
        let scope = try AWSScope(credentials, at: now(), region: region, service: service)
        request.headers["Authorization"] = nil
        request.headers["X-Amz-Date"] = scope.date
        if let token = credentials.sessionToken { request.headers["X-Amz-Security-Token"] = token }
        let chunks = try await chunks(of: request)
        if let chunks { chunks.describe(&request.headers) }
        let hash = if let chunks { chunks.payload } else { try await hash(of: request.body) }
        request.headers["X-Amz-Content-SHA256"] = sendsPayloadHash || hash.utf8.count != 64 ? hash : nil
        let canonical = AWSCanonicalRequest(
            request, query: request.query, payload: hash, pathRule: pathRule, unsigned: unsignedFields)
        let signature = try scope.signature(of: canonical)
        let parts = [
            "Credential=\(scope.credential)", "SignedHeaders=\(canonical.signedFields)", "Signature=\(signature)",
        ]
        request.headers["Authorization"] = "\(AWSScope.algorithm) \(parts.joined(separator: ", "))"
        if let chunks { request.body = chunks.body(scope, after: signature) }
    }

    /// Returns the hash of a body, or the word for a body that is not signed.
    func hash(of body: RequestBody?) async throws -> String {
        guard let body else { return try AWSScope.hash([UInt8]()) }
        if payload == .unsigned { return Self.unsignedPayload }
        guard body.isReplayable else { throw TrellisError(.bodyFailed(.notReplayable)) }
        guard let hash = try await body.hash(.sha256) else { throw TrellisError.noSHA256 }
        return Hexadecimal.text(hash)
    }

    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    private func chunks(of request: WireRequest) async throws -> AWSChunks? {
        guard let body = request.body, case .chunked(let size, let checksum) = payload else { return nil }
        guard let length = try await body.length else {
            throw TrellisError.unsigned("chunks of a body need its length, which its source does not say")
        }
        return AWSChunks(source: body, length: length, size: min(max(size, 8 << 10), 16 << 20), checksum: checksum)
    }
}
