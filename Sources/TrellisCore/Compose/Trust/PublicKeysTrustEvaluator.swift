import FoundationEssentials

/// An evaluator that trusts the servers in whose validated chain one of some public keys occurs.
///
/// ```swift
/// let pins = try PublicKeysTrustEvaluator(pins: [
///     "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=",  // the authority's key
///     "sha256/diGVwiVYbubAI3RW4hB9xU8e/CH2GnkuvVFZE8zmgzI=",  // a key that is not in use yet
/// ])
/// configuration.serverTrustManager = try ServerTrustManager(evaluators: ["**.example.com": pins])
/// ```
///
/// The chain is the one that the handshake has validated, from the server's certificate to the authority's. A certificate that the
/// server has merely sent along proves nothing and does not count. Pins only constrain: the handshake has accepted the server before.
///
/// Pin the key of an authority rather than a server's, which changes more often, and have a second key ready: if the only pinned key
/// is lost, no client can reach the server before it is updated. One pin alone is therefore an error, unless the creator allows it.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
    /// The pins. One of them has to occur in the chain.
    public let pins: Set<PublicKeyPin>
    /// The handling of servers that have none of the pins.
    public let enforcement: PinEnforcement
    /// Whether the chain has to be validated by the handshake.
    public let performDefaultValidation: Bool
    private let sortedPins: [String]

    /// Creates an evaluator for pins: their texts (``PublicKeyPin``), certificates' pins (``Certificate/publicKeyPin``), or certificates
    /// with the keys, in any mixture.
    ///
    /// - Parameters:
    ///   - pins: The pins. One of them has to occur in the chain.
    ///   - enforcement: The handling of servers that have none of the pins.
    ///   - allowsSinglePin: Whether there may be no backup: one pin alone.
    ///   - performDefaultValidation: Whether the chain has to be validated by the handshake. If `false`, the evaluator can be
    ///     used in a session without verification (``TLSConfiguration/insecureWithoutAnyVerification()``), where only the key of the
    ///     server's own certificate counts.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a value is not a pin, or if there are too few of them.
    public init(
        pins: [any PublicKeyPinConvertible], enforcement: PinEnforcement = .enforced, allowsSinglePin: Bool = false,
        performDefaultValidation: Bool = true
    ) throws(TrellisError) {
        var keys: Set<PublicKeyPin> = []
        for pin in pins { keys.insert(try pin.asPublicKeyPin()) }
        try self.init(
            keys: keys, enforcement: enforcement, allowsSinglePin: allowsSinglePin,
            performDefaultValidation: performDefaultValidation)
    }

    /// Creates an evaluator for pins, for example of certificates (``Certificate/publicKeyPin``).
    ///
    /// - Parameters:
    ///   - keys: The pins.
    ///   - enforcement: The handling of servers that have none of the pins.
    ///   - allowsSinglePin: Whether there may be no backup: one pin alone.
    ///   - performDefaultValidation: Whether the chain has to be validated by the handshake.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if there are too few pins.
    public init(
        keys: Set<PublicKeyPin>, enforcement: PinEnforcement = .enforced, allowsSinglePin: Bool = false,
        performDefaultValidation: Bool = true
    ) throws(TrellisError) {
        guard !keys.isEmpty, keys.count > 1 || allowsSinglePin else {
            let need = keys.isEmpty ? "a pin" : "a second pin as a backup, or allowsSinglePin"
            throw TrellisError(.invalidRequest(.trustEvaluator("an evaluator of public keys needs \(need)")))
        }
        pins = keys
        self.enforcement = enforcement
        self.performDefaultValidation = performDefaultValidation
        sortedPins = keys.map(\.description).sorted()
    }

    /// Returns if one of the pins occurs in the chain.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/pinMismatch``, or of kind ``TrellisError/Kind/trustRefused`` if the chain is
    ///   not validated.
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
        _ = try evaluateAtOnce(trust, forHost: host)
    }
}

extension PublicKeysTrustEvaluator: ImmediateTrustEvaluating {
    func evaluateAtOnce(_ trust: ServerTrust, forHost host: String) throws(TrellisError) -> [ServerTrustReport] {
        try evaluate(trust, forHost: host, now: Date())
    }

    func evaluate(_ trust: ServerTrust, forHost host: String, now: Date) throws(TrellisError) -> [ServerTrustReport] {
        if performDefaultValidation { try trust.requireValidation(forHost: host) }
        let hasPin = trust.chain.contains { pins.contains($0.publicKeyPin) }
        return try enforcement.reports(on: hasPin ? nil : mismatch(trust, host), forHost: host, now: now)
    }

    private func mismatch(_ trust: ServerTrust, _ host: String) -> PinMismatch {
        PinMismatch(
            .publicKeys, host: host,
            chain: trust.chain.map { .init(subject: $0.subject, pin: $0.publicKeyPin.description) },
            configured: sortedPins)
    }
}
