import HTTPTypes
import Trellis

/// The reason why the origin has not responded, in the words of `Proxy-Status` (RFC 9209, section 2.3). The words tell nothing about the
/// network behind the gateway.
struct OriginFailure {
    let status: HTTPResponse.Status
    /// The error type of `Proxy-Status`; `nil` if the request is to blame.
    let token: String?
    /// The explanation, a sentence without its full stop.
    let reason: String

    init(_ error: any Error) {
        let kind = (error as? TrellisError)?.kind
        // The gateway asks for no content to be decoded: such a failure is about the coding of the transfer.
        if error is PassedResponse.UnknownCoding || kind == .contentCoding {
            (status, token) = (.badGateway, "http_response_transfer_coding")
            reason = "the origin's response has an unknown transfer coding"
            return
        }
        (status, token, reason) =
            switch kind {
            case .connectTimeout: (.gatewayTimeout, "connection_timeout", "the connection to the origin takes too long")
            case .responseTimeout, .idleTimeout, .totalTimeout:
                (.gatewayTimeout, "http_response_timeout", "the origin does not respond in time")
            case .dns: (.badGateway, "dns_error", "the origin's name is not known")
            case .connect: (.badGateway, "connection_refused", "the origin cannot be reached")
            case .untrusted, .trustRefused, .pinMismatch:
                (.badGateway, "tls_certificate_error", "the origin is not trusted")
            case .tls: (.badGateway, "tls_protocol_error", "the origin cannot be reached over TLS")
            case .send, .receive, .truncatedBody:
                (.badGateway, "http_response_incomplete", "the origin has closed the connection")
            case .malformedResponse, .http2, .http3:
                (.badGateway, "http_protocol_error", "the origin's response is malformed")
            case .invalidRequest, .invalidURL: (.badRequest, nil, "the request cannot be sent")
            default: (.internalServerError, "proxy_internal_error", "the gateway has failed")
            }
    }
}
