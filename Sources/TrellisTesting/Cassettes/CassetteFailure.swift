import TrellisCore
import TrellisDiagnostics

/// The conversion of failures for the file of a cassette: a failure is replayed as one of the same kind with the same words.
enum CassetteFailure {
    /// Returns the recording of an exchange's error.
    static func recorded(_ error: TrellisError) -> HARDocument.Replay.Failure {
        HARDocument.Replay.Failure(
            kind: error.kind.rawValue, reason: reason(error.reason),
            isConnected: [.sending, .receiving, .received].contains(error.phase))
    }

    /// Returns the failure that a recording stands for. Kinds that no exchange has become `other`.
    static func failure(_ recorded: HARDocument.Replay.Failure) -> TransportFailure {
        TransportFailure(reason(TrellisError.Kind(rawValue: recorded.kind) ?? .other, recorded.reason))
    }

    /// The words of a server that has not agreed on HTTP/2.
    private static let http2NotAgreed = "the server has not agreed on HTTP/2"

    private static func reason(_ kind: TrellisError.Kind, _ reason: String) -> TrellisError.Reason {
        switch kind {
        case .invalidURL: .invalidRequest(.url(reason))
        case .dns: .connectionFailed(.nameResolution(reason))
        case .connect: .connectionFailed(.unreachable(reason))
        case .proxy: .proxyFailed(.unreachable(proxy: "of the recording", reason: reason))
        case .tls: .securityFailed(.handshake(reason))
        case .untrusted: .securityFailed(.untrusted(UntrustedCertificate(.other, text: reason)))
        case .send: .exchangeFailed(.send(reason))
        case .receive: .exchangeFailed(.receive(reason))
        case .truncatedBody: .invalidResponse(.bodyCutShort(reason))
        case .malformedResponse: .invalidResponse(.malformed(reason))
        case .contentCoding: .invalidResponse(.contentCoding(reason))
        case .http2: .exchangeFailed(reason == http2NotAgreed ? .http2NotAgreed : .http2(reason))
        case .http3: .exchangeFailed(.http3(reason))
        case .unsupported: .unsupported(reason)
        default: .other(reason)
        }
    }

    /// Returns the words of a reason that ``reason(_:_:)`` makes the same reason of.
    private static func reason(_ reason: TrellisError.Reason) -> String {
        switch reason {
        case .invalidRequest(.url(let reason)), .connectionFailed(.nameResolution(let reason)),
            .connectionFailed(.unreachable(let reason)), .connectionFailed(.source(let reason)),
            .proxyFailed(.unreachable(_, let reason)), .securityFailed(.handshake(let reason)),
            .exchangeFailed(.send(let reason)), .exchangeFailed(.receive(let reason)),
            .exchangeFailed(.http2(let reason)),
            .exchangeFailed(.http3(let reason)), .invalidResponse(.bodyCutShort(let reason)),
            .invalidResponse(.malformed(let reason)), .invalidResponse(.contentCoding(let reason)),
            .unsupported(let reason),
            .other(let reason):
            reason
        case .securityFailed(.untrusted(let certificate)): "\(certificate)"
        case .exchangeFailed(.http2NotAgreed): http2NotAgreed
        default: "\(reason)"
        }
    }
}
