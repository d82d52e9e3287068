import CurlEngine
import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// A step that adds a digest of the body to each request that has one (RFC 9530).
///
/// ```swift
/// configuration.steps.signers.append(ContentDigestSigner())
/// ```
///
/// The digest is computed of the bytes on the wire, after ``/Trellis/Request/compression``. A file is read once more for it, in pieces.
/// A signature that covers `content-digest` covers the body: add a ``MessageSigner`` after this signer.
public struct ContentDigestSigner: RequestSigner {
    /// The hash functions, in the order of the field. One at least.
    public var algorithms: [ContentDigestAlgorithm]
    /// The field. A request's content is the whole representation in most cases, and then both fields say the same.
    public var field: ContentDigestField

    /// Creates a signer.
    public init(_ algorithms: [ContentDigestAlgorithm] = [.sha256], field: ContentDigestField = .content) {
        (self.algorithms, self.field) = (algorithms, field)
    }

    /// Sets the field, unless the request has it already or has no body.
    ///
    /// - Throws: ``/Trellis/TrellisError`` of kind ``/Trellis/TrellisError/Kind/bodyNotReplayable`` for a sequence that is read once, which
    ///   would leave nothing to send; of kind ``/Trellis/TrellisError/Kind/unsupported`` without the hash function; the body's errors.
    public func sign(_ request: inout WireRequest, context: CallContext) async throws {
        try await sign(&request)
    }

    func sign(_ request: inout WireRequest) async throws {
        guard let body = request.body, request.headers[field.rawValue] == nil else { return }
        guard body.isReplayable else { throw TrellisError(.bodyFailed(.notReplayable)) }
        var digests = StructuredDictionary()
        for algorithm in algorithms {
            guard let digest = try await body.hash(algorithm.function) else {
                throw TrellisError(.unsupported("\(algorithm.rawValue) without OpenSSL"))
            }
            digests[algorithm.rawValue] = .item(StructuredItem(.bytes(Data(digest))))
        }
        request.headers[field.rawValue] = digests.text
    }
}
