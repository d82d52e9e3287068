import FoundationEssentials
import HTTPTypes
public import TrellisCore

extension Validator {
    /// Returns a validator that compares the body with the digests in the response's fields or trailers (RFC 9530).
    ///
    /// ```swift
    /// let page = try await session.request(url).validate(.contentDigest(isRequired: true)).decode(Page.self)
    /// ```
    ///
    /// `Content-Digest` counts in every response. `Repr-Digest` counts in a 200 to a `GET`, whose body is the whole representation. Digests
    /// of unknown functions are ignored. A response that has no body by its status or its method passes.
    ///
    /// The digests belong to the body in its content coding. Set ``/Trellis/SessionConfiguration/decodesContent`` to `false`, or for one
    /// request ``/Trellis/Request/decodesContent``, if the server compresses: the digest of a body that was decoded cannot be compared,
    /// which is an error.
    ///
    /// The error is of kind ``/Trellis/TrellisError/Kind/unacceptableDigest``. A stream has no whole body: its digest is that error too.
    ///
    /// - Parameter isRequired: Whether a response without a known digest is an error.
    public static func contentDigest(isRequired: Bool = false) -> Validator {
        Validator { request, response, body in
            guard let reason = try mismatch(of: response, to: request, body: body, isRequired: isRequired) else {
                return
            }
            throw TrellisError(.validationFailed(.digest(reason)), of: request, response: response)
        }
    }

    private static func mismatch(
        of response: Response, to request: Request, body: Data?, isRequired: Bool
    ) throws(TrellisError) -> String? {
        guard response.mayHaveBody(after: request.method) else { return nil }
        var fields: [ContentDigestField] = [.content]
        if request.method == .get, response.status.code == 200 { fields.append(.representation) }
        // Each of the two places has to be right: a trailer replaces no field that was compared already.
        let digests = fields.flatMap { field in
            [response.headers, response.trailers].map { ContentDigests($0.lines(field.rawValue)) }
        }.filter { !$0.isEmpty }
        guard !digests.isEmpty else { return isRequired ? "the response has no digest that can be compared" : nil }
        guard let body else { return "a digest is compared with a whole body, and this is a stream" }
        for digest in digests {
            guard let reason = try digest.mismatch(body) else { continue }
            return response.isCoded
                ? reason + "; the body is not as it was sent if its content coding was decoded" : reason
        }
        return nil
    }
}

extension Response {
    fileprivate var isCoded: Bool { headers[.contentEncoding] != nil }
}
