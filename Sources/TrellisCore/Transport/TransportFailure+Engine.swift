import CurlEngine

extension TransportFailure {
    /// Creates a failure from a failure of the engine.
    init(_ failure: EngineFailure) {
        self.init(Self.reason(failure))
        isConnectionFailure = failure.isConnectionFailure
        isUnprocessed = failure.isUnprocessed
        isFinal = failure.isFinal
        if failure.kind == .bodyNotReplayable { loss = .exchangeFailed(Self.lossOfBody(failure)) }
        if case .untrusted(let certificate?) = failure.kind, certificate.peer == .server {
            sentCertificates = certificate.sent
        }
    }

    private static func lossOfBody(_ failure: EngineFailure) -> TrellisError.ExchangeFailure {
        if failure.isUnprocessed { return .http2(failure.message) }
        return failure.message.hasBytePrefix("Send failure") ? .send(failure.message) : .receive(failure.message)
    }

    private static func reason(_ failure: EngineFailure) -> TrellisError.Reason {
        let text = failure.message
        return switch failure.kind {
        case .unsupported: .unsupported(text)
        case .malformedURL: .invalidRequest(.url(text))
        case .nameResolution: .connectionFailed(.nameResolution(text))
        case .connect: .connectionFailed(.unreachable(text))
        case .connectLimit: .timedOut(.connect)
        case .source: .connectionFailed(.source(text))
        case .egressRefused(let address, let network):
            .egressRefused(.network(IPNetwork(network), address: "\(address)"))
        case .tlsHandshake: .securityFailed(.handshake(text))
        case .tlsVersion(.server): .securityFailed(.version(text))
        case .tlsVersion(.proxy): .securityFailed(.version("\(text) (with the proxy)"))
        case .untrusted(let certificate):
            .securityFailed(.untrusted(certificate.map(UntrustedCertificate.init) ?? .init(.other, text: text)))
        case .clientCertificate(let cause, let alert, let peer):
            .securityFailed(.clientIdentity(.init(cause, alert: Int(alert), of: peer, text: text)))
        case .certificateAuthorityFile: .securityFailed(.certificateAuthorityFile(text))
        case .send: .exchangeFailed(.send(text))
        case .receive: .exchangeFailed(.receive(text))
        case .emptyReply: .exchangeFailed(.receive("the server closed the connection without a response"))
        case .bodyCutShort: .invalidResponse(.bodyCutShort(text))
        case .malformedResponse: .invalidResponse(.malformed(text))
        case .contentCoding: .invalidResponse(.contentCoding(text))
        case .http2: .exchangeFailed(.http2(text))
        case .http2NotAgreed: .exchangeFailed(.http2NotAgreed)
        case .extendedConnectNotOffered:
            .webSocketFailed(.handshake("the server does not offer WebSockets over HTTP/2 (RFC 8441)"))
        case .http3: .exchangeFailed(.http3(text))
        case .flooded: .exchangeFailed(.flooded)
        case .bodyNotReplayable: .bodyFailed(.notReplayable)
        case .bodyFile(let path): .bodyFailed(.file(path: path, reason: text))
        case .replayRefused: .exchangeFailed(.connectionLost)
        case .proxy(let name, let failure): .proxyFailed(reason(failure, proxy: name, text))
        case .head(let head): reason(head)
        case .tooLarge: .invalidResponse(.malformed(text))
        case .outOfMemory, .internalError: .other("libcurl: \(text)")
        }
    }

    private static func reason(
        _ failure: EngineFailure.ProxyCause, proxy name: String, _ text: String
    ) -> TrellisError.ProxyFailure {
        switch failure {
        case .nameResolution: .nameResolution(proxy: name, reason: text)
        case .unreachable: .unreachable(proxy: name, reason: text)
        case .refused(let status, let hasCredentials) where [401, 407].contains(status):
            .unauthorized(proxy: name, status: status, hasCredentials: hasCredentials)
        case .refused(let status, _): .refused(proxy: name, status: status)
        case .unauthorized(let hasCredentials): .socksUnauthorized(proxy: name, hasCredentials: hasCredentials)
        case .unreachableServer(let isTransient): .socksRefused(proxy: name, reason: text, mayBeTransient: isTransient)
        case .noTunnel: .noTunnel(proxy: name, reason: text)
        }
    }

    private static func reason(_ failure: HeadFailure) -> TrellisError.Reason {
        switch failure {
        case .badStatusLine(let line): .invalidResponse(.malformed("status line \"\(line)\""))
        case .unexpectedStatus(let status):
            .invalidResponse(.malformed("status \(status) where none of its kind can be"))
        case .badFieldLine(let line): .invalidResponse(.malformed("header line \"\(line)\""))
        case .conflictingContentLength: .invalidResponse(.malformed("two different content lengths"))
        case .badContentLength(let value): .invalidResponse(.malformed("content length \"\(value)\""))
        case .tooLarge(let limit): .invalidResponse(.headTooLarge(limit: limit))
        case .tooManyFields: .invalidResponse(.malformed("more than \(WireFields.maximumCount) header fields"))
        case .secondHead: .invalidResponse(.malformed("a second head after the final one"))
        case .cutShort: .invalidResponse(.malformed("the head was cut short"))
        }
    }
}
