import CurlEngine

/// The evaluations of a session's hosts, with the certificates that evaluators have accepted.
final class ServerTrustTable: Sendable {
    /// A host, with the number of the last request to it.
    private struct Host {
        var evaluation: HostTrust
        var lastUse: UInt64
    }

    private struct Hosts {
        var byName: [String: Host] = [:]
        var uses: UInt64 = 0
    }

    /// The number of hosts whose evaluations are kept. Those that a request holds are kept above that, too.
    private static let limit = 1024

    private let manager: ServerTrustManager
    /// Whether an evaluator may wait, so that requests need a call with a task.
    let mayWait: Bool
    private let hosts = Locked(Hosts())

    init(_ manager: ServerTrustManager) {
        self.manager = manager
        mayWait = manager.mayWait
    }

    /// Returns the evaluation for the host of a URL, if any.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/trustRefused`` if an evaluator is missing.
    func evaluation(for url: WireURL) throws(TrellisError) -> HostTrust? {
        guard url.isSecure else { return nil }
        // Names of hosts are compared without regard to case (RFC 9110, section 4.2.3).
        let host = url.bareHost
        if let known = hosts.withLock({ Self.known(host, &$0) }) { return known }
        guard let evaluator = try manager.serverTrustEvaluator(forHost: host) else { return nil }
        return hosts.withLock { hosts in
            if let known = Self.known(host, &hosts) { return known }
            if hosts.byName.count >= Self.limit { Self.removeUnused(&hosts) }
            let evaluation = HostTrust(host, evaluator)
            hosts.byName[host] = Host(evaluation: evaluation, lastUse: hosts.uses)
            return evaluation
        }
    }

    /// Returns the evaluation for a known host, which is used with that.
    private static func known(_ host: String, _ hosts: inout Hosts) -> HostTrust? {
        hosts.uses += 1
        guard let index = hosts.byName.index(forKey: host) else { return nil }
        hosts.byName.values[index].lastUse = hosts.uses
        return hosts.byName.values[index].evaluation
    }

    /// Removes half of the hosts that no request holds, those that were not used for the longest time. A request that has had its server
    /// evaluated, and is sent again, holds the host.
    private static func removeUnused(_ hosts: inout Hosts) {
        // A copy of the dictionary would hold the hosts, too: the names are in a list.
        let names = Array(hosts.byName.keys)
        let unused = names.filter { name in
            guard let index = hosts.byName.index(forKey: name) else { return false }
            return isKnownUniquelyReferenced(&hosts.byName.values[index].evaluation)
        }
        let sorted = unused.sorted { hosts.byName[$0]?.lastUse ?? 0 < hosts.byName[$1]?.lastUse ?? 0 }
        for name in sorted.prefix((unused.count + 1) / 2) { hosts.byName[name] = nil }
    }
}

extension WireURL {
    /// The host in lower case, without a dot at its end, with IPv6 addresses without brackets.
    var bareHost: String {
        let host = name.lowercasedASCII()
        return host.hasBytePrefix("[") ? String(host.dropFirst().dropLast()) : host
    }
}

/// The evaluation of one host's certificates.
final class HostTrust: Sendable {
    /// The decision about a server.
    enum Decision {
        /// The request may be sent. The deviations were reported, and not enforced.
        case accepted(ServerTrust, [ServerTrustReport])
        /// The request must not be sent.
        case refused(ServerTrust?, TrellisError)
        /// The evaluator must be asked, which takes time.
        case pending(PendingServerTrust)
    }

    /// A chain that was shown before.
    private struct Known {
        let trust: ServerTrust
        /// The end of the time for which the evaluator is not asked again; `nil` if it was not asked.
        var acceptedUntil: EngineInstant?
        /// The reports of the evaluation.
        var reports: [ServerTrustReport] = []
    }

    /// The time for which an accepted chain needs no further evaluation, in nanoseconds: ten minutes.
    static let lifetime: UInt64 = 600_000_000_000
    /// The number of chains that are kept. Hosts with more servers than that are evaluated more often.
    private static let limit = 64

    let host: String
    let evaluator: any ServerTrustEvaluating
    private let immediate: (any ImmediateTrustEvaluating)?
    private let known = Locked<[CertificateChain: Known]>([:])
    private let evaluations = SharedWork<CertificateChain, Void>()

    init(_ host: String, _ evaluator: any ServerTrustEvaluating) {
        self.host = host
        self.evaluator = evaluator
        immediate = evaluator.immediate
    }

    /// Whether the evaluator may wait.
    var mayWait: Bool { immediate == nil }

    /// Decides about a server, on the engine thread.
    func decide(_ chain: CertificateChain?, now: EngineInstant) -> Decision {
        let known: Known
        do throws(TrellisError) {
            guard let chain else { throw TrellisError(.serverTrust(.noCertificatesFound(host: host))) }
            known = try read(chain)
            guard !known.trust.chain.isEmpty else {
                throw TrellisError(.serverTrust(.noCertificatesFound(host: host)))
            }
            guard let immediate else {
                if let end = known.acceptedUntil, now < end { return .accepted(known.trust, known.reports) }
                return .pending(PendingServerTrust(evaluation: self, trust: known.trust, chain: chain))
            }
            do throws(TrellisError) {
                return .accepted(known.trust, try immediate.evaluateAtOnce(known.trust, forHost: host))
            } catch {
                return .refused(known.trust, error)
            }
        } catch {
            // The certificates were accepted by the handshake, so that only an encoding beyond DER makes them unreadable.
            guard !error.reason.isOfServerTrust else { return .refused(nil, error) }
            return .refused(nil, TrellisError(.serverTrust(.noCertificatesFound(host: host)), underlying: error))
        }
    }

    /// Asks the evaluator, unless another call asks it about the same chain, and stores its acceptance. Returns without a decision in a
    /// cancelled task.
    fileprivate func evaluate(_ pending: PendingServerTrust, clock: any EngineClock) async throws(TrellisError) {
        do {
            try await evaluations.value(for: pending.chain) { [self] in
                let isAccepted = known.withLock { known in
                    known[pending.chain]?.acceptedUntil.map { clock.now() < $0 } ?? false
                }
                // The evaluation of another call may have ended since this one has found that it needs one.
                if !isAccepted { try await ask(pending, clock) }
            }
        } catch let error as TrellisError {
            throw error
        } catch {
            // The call's own task was cancelled.
        }
    }

    private func ask(_ pending: PendingServerTrust, _ clock: any EngineClock) async throws(TrellisError) {
        let reports: [ServerTrustReport]
        do {
            reports = try await evaluator.reports(on: pending.trust, forHost: host)
        } catch let error as TrellisError where error.reason.isOfServerTrust {
            throw error
        } catch {
            throw TrellisError(.serverTrust(.customEvaluationFailed(host: host)), underlying: error)
        }
        let end = clock.now().advanced(byNanoseconds: Self.lifetime)
        known.withLock {
            $0[pending.chain] = Known(trust: pending.trust, acceptedUntil: end, reports: reports)
        }
    }

    /// Returns a chain with its certificates read.
    private func read(_ chain: CertificateChain) throws(TrellisError) -> Known {
        if let known = known.withLock({ $0[chain] }) { return known }
        let known = Known(trust: try ServerTrust(chain, host: host))
        self.known.withLock { list in
            if list.count >= Self.limit { list = list.filter { $0.value.acceptedUntil != nil } }
            // The chain that was accepted last may belong to a request that is about to be sent again.
            while list.count >= Self.limit, let oldest = list.min(by: { Self.isOlder($0.value, $1.value) }) {
                list[oldest.key] = nil
            }
            list[chain] = known
        }
        return known
    }

    /// Returns whether a chain was accepted before another one.
    private static func isOlder(_ chain: Known, _ other: Known) -> Bool {
        guard let end = chain.acceptedUntil, let otherEnd = other.acceptedUntil else {
            return chain.acceptedUntil == nil
        }
        return end < otherEnd
    }
}

/// The certificates that an evaluator must be asked about before the request is sent, as the underlying error of an exchange that has ended
/// for that reason. Callers do not get such an error: their call asks the evaluator, and sends the request again.
struct PendingServerTrust: Error {
    let evaluation: HostTrust
    let trust: ServerTrust
    /// The certificates as they were received, by which the acceptance is stored.
    let chain: CertificateChain

    /// The error of the exchange that has ended for this reason.
    var error: TrellisError {
        TrellisError(.serverTrust(.changingCertificates(host: trust.host, evaluations: 0)), underlying: self)
    }

    /// Asks the evaluator, and stores its acceptance.
    ///
    /// - Throws: The error of the evaluator, if it is one of the framework's about servers; otherwise ``TrellisError`` of kind
    ///   ``TrellisError/Kind/trustRefused``, with the error as the underlying one.
    func evaluate(clock: any EngineClock) async throws(TrellisError) {
        try await evaluation.evaluate(self, clock: clock)
    }
}

extension TrellisError {
    /// The certificates that an evaluator must be asked about; `nil` if the failure is another one.
    var pendingTrust: PendingServerTrust? { underlying as? PendingServerTrust }
}
