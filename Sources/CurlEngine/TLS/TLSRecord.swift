import CCurl

/// The record of a TLS handshake: the certificate that was not accepted, and the alerts. libcurl reports these in words that differ between
/// its versions, or not at all. It belongs to the engine thread.
@safe
final class TLSRecord {
    /// The host that the peer must have a certificate for.
    private let host: String
    private let peer: TLSPeer
    /// Whether there is a client certificate for the peer.
    private let hasIdentity: Bool
    private let record: OpaquePointer
    /// Whether the handshake has succeeded, so that later failures of its connection are others.
    var isComplete = false

    /// Creates an empty record; `nil` if libcurl uses another library than OpenSSL.
    init?(of peer: TLSPeer, host: String, hasIdentity: Bool) {
        guard let record = unsafe ccurl_tls_record_create() else { return nil }
        unsafe self.record = record
        self.host = host
        self.peer = peer
        self.hasIdentity = hasIdentity
    }

    deinit { unsafe ccurl_tls_record_release(record) }

    /// Begins to record the handshake of a context.
    func begin(_ context: UnsafeMutableRawPointer?, verifies: Bool, keyLog: KeyLogFile?) {
        _ = unsafe ccurl_tls_record_begin(record, context, verifies, keyLog?.descriptor ?? -1)
    }

    /// Returns the failure with its reason, if the handshake is the reason.
    func explained(_ failure: EngineFailure) -> EngineFailure {
        let facts = unsafe ccurl_tls_record_facts(record).pointee
        if unsafe facts.verify_error != 0, !isComplete, failure.mayBeOfHandshake {
            return failure.as(.untrusted(unsafe RejectedCertificate(facts, host: host, peer: peer)))
        }
        // With TLS 1.3, the peer examines the client certificate after the handshake, and a failure to send may be noticed before the
        // alert.
        guard failure.mayBeOfHandshake || failure.mayBeOfAlert else { return failure }
        let (received, sent) = unsafe (facts.alert_received, facts.alert_sent)
        let lacksIdentity = unsafe facts.lacks_certificate && !hasIdentity
        let cause: EngineFailure.ClientCertificateCause
        switch TLSAlert(rawValue: received) {
        case .certificateRequired?: cause = hasIdentity ? .refused : .required
        case .handshakeFailure? where lacksIdentity: cause = .required
        case .handshakeFailure? where unsafe facts.lacks_certificate: cause = .unsuitable
        case .protocolVersion?: return failure.as(.tlsVersion(peer))
        case let alert? where alert.concernsCertificate && hasIdentity: cause = .refused
        case let alert? where alert.concernsCertificate && lacksIdentity: cause = .required
        default:
            guard TLSAlert(rawValue: sent) == .protocolVersion else { return failure }
            return failure.as(.tlsVersion(peer))
        }
        return failure.as(.clientCertificate(cause, alert: received, peer))
    }
}

/// The alerts of TLS (RFC 8446, section 6.2) that have a meaning for a client's certificate and version.
enum TLSAlert: Int32 {
    case handshakeFailure = 40
    case badCertificate = 42
    case unsupportedCertificate = 43
    case certificateRevoked = 44
    case certificateExpired = 45
    case certificateUnknown = 46
    case unknownAuthority = 48
    case accessDenied = 49
    case protocolVersion = 70
    case certificateRequired = 116

    /// Whether a server sends the alert because of the client's certificate.
    var concernsCertificate: Bool {
        switch self {
        case .handshakeFailure, .protocolVersion: false
        default: true
        }
    }
}

extension EngineFailure {
    /// Whether the failure may have occurred in a TLS handshake.
    fileprivate var mayBeOfHandshake: Bool {
        switch kind {
        case .tlsHandshake, .untrusted, .http3, .connect: true
        // libcurl before 8 reports an alert of the server inside a proxy's tunnel in this way.
        case .receive, .send: code == Int(CURLE_RECV_ERROR.rawValue) || code == Int(CURLE_SEND_ERROR.rawValue)
        default: code == Int(CURLE_SSL_CLIENTCERT.rawValue) || code == Int(CURLE_PROXY.rawValue)
        }
    }

    /// Whether an alert of the server may have ended the connection after the handshake.
    fileprivate var mayBeOfAlert: Bool {
        switch kind {
        case .send, .receive, .emptyReply, .bodyCutShort, .http2: true
        default: false
        }
    }
}
