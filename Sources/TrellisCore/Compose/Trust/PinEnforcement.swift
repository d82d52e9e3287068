public import FoundationEssentials

/// The handling of servers that have none of the pins of an evaluator.
public enum PinEnforcement: Sendable, Hashable {
    /// The request fails before any byte of it is sent. The default.
    case enforced
    /// The pins are enforced up to an instant. Afterwards, they are ignored, and each request sends the event
    /// ``RequestEvent/Kind/serverTrustReported(_:)`` with ``ServerTrustReport/pinsExpired(host:since:)``: a program that is no longer
    /// updated keeps working when the keys have been replaced.
    case enforcedUntil(Date)
    /// The request is sent, and the event ``RequestEvent/Kind/serverTrustReported(_:)`` reports the mismatch, to try out new pins.
    case reportOnly
}

extension PinEnforcement {
    /// Returns the reports about a mismatch, or throws it as an error.
    ///
    /// - Parameter mismatch: The mismatch; `nil` if the server has one of the pins.
    func reports(
        on mismatch: PinMismatch?, forHost host: String, now: Date
    ) throws(TrellisError) -> [ServerTrustReport] {
        if case .enforcedUntil(let end) = self, now > end { return [.pinsExpired(host: host, since: end)] }
        guard let mismatch else { return [] }
        if case .reportOnly = self { return [.pinMismatch(mismatch)] }
        throw TrellisError(.securityFailed(.pinMismatch(mismatch)))
    }
}

/// A deviation of a server's certificates that was reported, and not enforced.
public enum ServerTrustReport: Sendable, Hashable {
    /// The server has none of the pins of an evaluator that only reports (``PinEnforcement/reportOnly``).
    case pinMismatch(PinMismatch)
    /// The pins for the host are no longer enforced (``PinEnforcement/enforcedUntil(_:)``).
    case pinsExpired(host: String, since: Date)
}

extension ServerTrustReport: CustomStringConvertible {
    /// The deviation in words.
    public var description: String {
        switch self {
        case .pinMismatch(let mismatch): "\(mismatch); not enforced"
        case .pinsExpired(let host, let since):
            "the pins of \(host) are not enforced, because they have expired \(since.formatted(.iso8601))"
        }
    }
}

/// The absence of every configured pin from the chain of a server.
public struct PinMismatch: Sendable, Hashable {
    /// The objects that are pinned.
    public enum Subject: String, Sendable, Hashable, CaseIterable {
        /// The public keys of certificates: ``PublicKeysTrustEvaluator``.
        case publicKeys = "public keys"
        /// Complete certificates: ``PinnedCertificatesTrustEvaluator``.
        case certificates
    }

    /// A certificate of the server, and its pin.
    public struct Presented: Sendable, Hashable {
        /// The subject of the certificate.
        public let subject: String
        /// The pin of the public key, or the fingerprint of the certificate: `sha256/` and the digest in Base64.
        public let pin: String

        /// Creates a certificate with its pin.
        public init(subject: String, pin: String) {
            self.subject = subject
            self.pin = pin
        }
    }

    /// The objects that are pinned.
    public let subject: Subject
    /// The host of the request.
    public let host: String
    /// The certificates of the validated chain, the server's own first.
    public let chain: [Presented]
    /// The configured pins, sorted.
    public let configured: [String]

    /// Creates a mismatch.
    public init(_ subject: Subject, host: String, chain: [Presented], configured: [String]) {
        self.subject = subject
        self.host = host
        self.chain = chain
        self.configured = configured
    }
}

extension PinMismatch: CustomStringConvertible {
    /// The certificates with their pins, and the configured pins, in words.
    public var description: String {
        let presented = chain.map { "\($0.pin) of \($0.subject.isEmpty ? "no subject" : $0.subject)" }
        return "\(host) has none of the pinned \(subject.rawValue): its chain has "
            + presented.joined(separator: "; ") + "; configured: " + configured.joined(separator: ", ")
    }
}
