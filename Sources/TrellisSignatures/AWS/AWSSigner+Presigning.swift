import CurlEngine
import FoundationEssentials
import HTTPTypes
public import TrellisCore

extension AWSSigner {
    /// Returns a URL that has the signature in its query, so that who has it may send the request, until it expires.
    ///
    /// ```swift
    /// let report = "https://bucket.s3.eu-central-1.amazonaws.com/report.pdf"
    /// let link = try await signer.presignedURL(for: report, expiringAfter: .seconds(3600))
    /// ```
    ///
    /// The request must be sent with the same method, and with the same fields as far as they are signed. For services of S3 its body is
    /// not signed; elsewhere it is, unless ``payload-swift.property`` says otherwise.
    ///
    /// The URL is a secret: whoever has it needs no other credentials.
    ///
    /// - Parameters:
    ///   - request: The request, with an absolute URL.
    ///   - time: The time until the URL expires, in whole seconds: one second to seven days.
    /// - Throws: The errors of the closure for credentials; ``/Trellis/TrellisError`` of kind ``/Trellis/TrellisError/Kind/invalidURL``; of
    ///   kind ``/Trellis/TrellisError/Kind/invalidRequest`` if the URL has a signature already or the time is out of range; of kind
    ///   ``/Trellis/TrellisError/Kind/unsupported`` without SHA-256; the errors of the body.
    public func presignedURL(
        for request: some RequestConvertible, expiringAfter time: Duration = .seconds(900)
    ) async throws -> String {
        var wire = try WireRequest(request.asRequest())
        wire.headers["Authorization"] = nil
        let seconds = time.components.seconds
        guard 1...604_800 ~= seconds else { throw TrellisError.unsigned("a URL expires in one second to seven days") }
        let names = FormText.pairs(wire.query ?? "").map { $0.name.lowercasedASCII() }
        guard Self.queryNames.isDisjoint(with: names) else {
            throw TrellisError.unsigned("the URL has a signature already, or a part of one")
        }
        let credentials = try await credentials()
        let scope = try AWSScope(credentials, at: now(), region: region, service: service)
        let hash = try await pathRule == .s3 ? Self.unsignedPayload : hash(of: wire.body)
        // The names of the signed fields do not depend on the query.
        let fields = AWSCanonicalRequest(
            wire, query: nil, payload: hash, pathRule: pathRule, unsigned: unsignedFields
        ).signedFields
        var added = [
            ("X-Amz-Algorithm", AWSScope.algorithm), ("X-Amz-Credential", scope.credential), ("X-Amz-Date", scope.date),
            ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", fields),
        ]
        if let token = credentials.sessionToken { added.append(("X-Amz-Security-Token", token)) }
        let texts = added.map { "\($0.0)=\(AWSEncoding.encode($0.1))" }
        let query = ([wire.query].compactMap { $0 }.filter { !$0.isEmpty } + texts).joined(separator: "&")
        let canonical = AWSCanonicalRequest(
            wire, query: query, payload: hash, pathRule: pathRule, unsigned: unsignedFields)
        let path = wire.target == "*" ? "/" : wire.path
        return
            "\(wire.scheme)://\(wire.authority)\(path)?\(query)&X-Amz-Signature=\(try scope.signature(of: canonical))"
    }

    /// The names of the items that are added, in lower case. Of two equal ones, a server might read the other.
    private static let queryNames: Set<String> = [
        "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-security-token", "x-amz-signature",
        "x-amz-signedheaders",
    ]
}
