import Trellis

/// The conversion of failures for the file of a cassette: a failure is replayed as one of the same kind with the same words.
enum CassetteFailure {
    /// Returns the recording of an exchange's error.
    static func recorded(_ error: TrellisError) -> HARDocument.Replay.Failure {
        HARDocument.Replay.Failure(
            kind: error.kind.rawValue, why: why(error.reason),
            isConnected: [.sending, .receiving, .received].contains(error.phase))
    }

    /// Returns the failure that a recording stands for. Kinds that no exchange has become `other`.
    static func failure(_ recorded: HARDocument.Replay.Failure) -> TransportFailure {
        TransportFailure(reason(TrellisError.Kind(rawValue: recorded.kind) ?? .other, recorded.why))
    }

    private static func reason(_ kind: TrellisError.Kind, _ why: String) -> TrellisError.Reason {
        switch kind {
        case .invalidURL: .invalidRequest(.url(why))
        case .dns: .connectionFailed(.nameResolution(why))
        case .connect: .connectionFailed(.unreachable(why))
        case .proxy: .proxyFailed(.unreachable(proxy: "of the recording", why: why))
        case .tls: .securityFailed(.handshake(why))
        case .untrusted: .securityFailed(.untrusted(UntrustedCertificate(.other, text: why)))
        case .send: .exchangeFailed(.send(why))
        case .receive: .exchangeFailed(.receive(why))
        case .truncatedBody: .invalidResponse(.bodyCutShort(why))
        case .malformedResponse: .invalidResponse(.malformed(why))
        case .contentCoding: .invalidResponse(.contentCoding(why))
        case .http2: .exchangeFailed(.http2(why))
        case .http3: .exchangeFailed(.http3(why))
        case .unsupported: .unsupported(why)
        default: .other(why)
        }
    }

    /// Returns the words of a reason that ``reason(_:_:)`` makes the same reason of.
    private static func why(_ reason: TrellisError.Reason) -> String {
        switch reason {
        case .invalidRequest(.url(let why)), .connectionFailed(.nameResolution(let why)),
            .connectionFailed(.unreachable(let why)), .connectionFailed(.source(let why)),
            .proxyFailed(.unreachable(_, let why)), .securityFailed(.handshake(let why)),
            .exchangeFailed(.send(let why)), .exchangeFailed(.receive(let why)), .exchangeFailed(.http2(let why)),
            .exchangeFailed(.http3(let why)), .invalidResponse(.bodyCutShort(let why)),
            .invalidResponse(.malformed(let why)), .invalidResponse(.contentCoding(let why)), .unsupported(let why),
            .other(let why):
            why
        case .securityFailed(.untrusted(let certificate)): "\(certificate)"
        default: "\(reason)"
        }
    }
}
