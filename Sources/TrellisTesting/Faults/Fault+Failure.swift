import FoundationEssentials
import TrellisCore

extension Fault {
    /// The failure that an engine reports for the fault; `nil` for a fault that is no failure by itself: a silence, a latency, a drip and a
    /// length that is too small.
    var failure: TransportFailure? {
        switch self {
        case .silence, .latency, .drip, .framing(.lengthTooSmall): return nil
        case .unresolvedName: return TransportFailure(.connectionFailed(.nameResolution(text)))
        case .refusedConnection: return TransportFailure(.connectionFailed(.unreachable(text)))
        case .tls(let fault): return TransportFailure(.securityFailed(fault.failure(text)))
        case .framing(.lengthTooLarge): return TransportFailure(.invalidResponse(.bodyCutShort(text)))
        case .framing: return TransportFailure(.invalidResponse(.malformed(text)))
        // The connection has ended, and the server has blamed nobody.
        case .http2(.goAway(.noError)): return TransportFailure(.exchangeFailed(.receive(text)))
        case .http2(let fault):
            var failure = TransportFailure(.exchangeFailed(.http2(text)))
            if case .resetStream(.refusedStream, nil) = fault { failure.isUnprocessed = true }
            return failure
        case .reset(let moment): return end(at: moment, isReset: true)
        case .close(let moment), .closeWithoutNotify(let moment): return end(at: moment, isReset: false)
        }
    }

    /// Returns the failure in an exchange with TLS or without it. An end over TLS without a `close_notify` is a failure of the connection,
    /// except within a body, whose length shows that it is cut.
    func failure(isSecure: Bool) -> TransportFailure? {
        guard isSecure, case .closeWithoutNotify(let moment) = self else { return failure }
        return switch moment {
        case .responseBody, .end: failure
        case .connecting, .handshake, .requestHead, .requestBody, .responseHead: end(at: moment, isReset: true)
        }
    }

    /// Returns the failure of a connection that ends at a moment.
    private func end(at moment: Moment, isReset: Bool) -> TransportFailure {
        switch moment {
        case .connecting: return TransportFailure(.connectionFailed(.unreachable(text)))
        case .handshake: return TransportFailure(.securityFailed(.handshake(text)))
        case .requestHead, .requestBody, .responseHead:
            var failure = TransportFailure(.exchangeFailed(.receive(text)))
            // Without a response and without an error, a reused connection may have been dead.
            failure.isConnectionFailure = !isReset
            return failure
        case .responseBody, .end:
            let reason: TrellisError.Reason =
                isReset ? .exchangeFailed(.receive(text)) : .invalidResponse(.bodyCutShort(text))
            return TransportFailure(reason)
        }
    }

    private var text: String { "planned by the test: \(self)" }
}

extension TLSFault {
    fileprivate func failure(_ text: String) -> TrellisError.SecurityFailure {
        switch self {
        case .handshake: .handshake(text)
        case .version: .version(text)
        case .clientCertificateRequired: .clientIdentity(.required)
        case .certificate(let flaw):
            .untrusted(UntrustedCertificate(flaw.rule, depth: flaw == .unknownAuthority ? nil : 0, text: text))
        }
    }
}

extension CertificateFlaw {
    /// The rule that the certificate breaks. The instants are no certificate's, because a mock has none.
    fileprivate var rule: UntrustedCertificate.Rule {
        switch self {
        case .expired: .expired(since: nil)
        case .notYetValid: .notYetValid(until: nil)
        case .wrongHost: .wrongHost("", names: [Self.otherHost])
        case .selfSigned: .selfSigned
        case .unknownAuthority: .unknownIssuer
        }
    }

    /// The host of the certificate for another host.
    static let otherHost = "elsewhere.example"
}
