import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The fields after a request's body (RFC 9110, section 6.5).
extension RequestPreparation {
    /// Returns a body with fields after it, which is chunked.
    static func body(
        _ body: TransferOptions.Body, _ streamed: PreparedRequest.StreamedBody?,
        with trailers: @escaping RequestTrailers
    ) -> (TransferOptions.Body, PreparedRequest.StreamedBody?) {
        var streamed = streamed
        if case .bytes(let bytes) = body {
            streamed = PreparedRequest.StreamedBody(length: Int64(bytes.count), isReplayable: true) { send in
                if !bytes.isEmpty { try await send(Data(bytes)) }
            }
        }
        return (.stream(length: nil), streamed?.with { try await checked(trailers) })
    }

    /// Returns the fields, none of which concerns the framing, the routing, the authentication or the content of a message, which are read
    /// before it (RFC 9110, section 6.5.1).
    private static func checked(_ trailers: RequestTrailers) async throws -> HTTPFields {
        let fields: HTTPFields
        do {
            fields = try await trailers()
        } catch {
            throw TrellisError(.bodyFailed(.sourceFailed), underlying: error)
        }
        for field in fields where forbidden.contains(field.name.canonicalName) {
            throw TrellisError(.invalidRequest(.body("\(field.name) is no trailer")))
        }
        if let name = fields.invalidName { throw TrellisError.invalidFieldName(name) }
        return fields
    }

    private static let forbidden: Set<String> = [
        "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-range",
        "content-type", "cookie",
        "expect", "host", "keep-alive", "max-forwards", "pragma", "proxy-authorization", "proxy-connection", "range",
        "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
}
