import CurlEngine

/// The connection of an attempt: the evaluation of the server's certificates before the request is sent, and the readiness to send.
extension ExchangeActor {
    func isConnected(in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt), !state.isEnded else { return }
        lastMove = executor.now
        if state.expectation == .awaited { beginContinueWait() } else if waitsForTrust { startPump() }
        // An exchange that has waited may be the first one whose connection can be shared, after others have failed.
        if isProbing || mayRevealSharing { reportConnection(isShared: task?.sharesConnection ?? false) }
        handle(.connect)
    }

    /// Whether the exchange has waited for its slot, and has a connection that others can share.
    private var mayRevealSharing: Bool {
        hasWaited && prepared.mayShareConnection && LibcurlFeatures.current.canMultiplex
            && task?.sharesConnection == true
    }

    /// Reports whether the first connection to an origin can be shared, so that the requests that wait for this result continue.
    func reportConnection(isShared: Bool) {
        isProbing = false
        if let originIndex { admission.didProbe(self, at: originIndex, isShared: isShared) }
    }

    /// Whether the body is not read yet, because the attempt may end with the evaluation of the server, and the body of another
    /// attempt may be one that can be read only once.
    var waitsForTrust: Bool { pump == nil && prepared.trustEvaluation?.mayWait == true }

    /// Keeps the certificates of a server that the handshake has refused, if the caller asks for those of the server.
    func keepCertificates(of failure: TransportFailure) {
        guard prepared.wire.readsCertificates, !failure.sentCertificates.isEmpty else { return }
        let chain = CertificateChain(validated: [], sent: failure.sentCertificates)
        serverTrust = try? ServerTrust(chain, host: prepared.wire.url.bareHost)
    }

    func evaluate(_ chain: CertificateChain?, in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt), !state.isEnded else { return }
        guard let evaluation = prepared.trustEvaluation else {
            // A chain that only the caller asks for need not be readable.
            serverTrust = chain.flatMap { try? ServerTrust($0, host: prepared.wire.url.bareHost) }
            return
        }
        switch evaluation.decide(chain, now: executor.now) {
        case .accepted(let trust, let reports):
            serverTrust = trust
            for report in reports { prepared.history?.tell(.serverTrustReported(report)) }
            tellEvaluation(of: trust)
        case .refused(let trust, let error):
            serverTrust = trust
            prepared.history?.tell(.serverTrustEvaluated(trust, error))
            fail(error)
        case .pending(let pending):
            serverTrust = pending.trust
            // libcurl has repeated the request on another connection.
            let isBodyLost = pump != nil && prepared.streamedBody?.isReplayable == false
            fail(isBodyLost ? TrellisError(.bodyFailed(.notReplayable)) : pending.error)
        }
    }
}

extension ExchangeActor {
    /// Tells the observers that the server of a new connection is trusted.
    private func tellEvaluation(of trust: ServerTrust) {
        guard let history = prepared.history, observesSteps, task?.report.isReusedConnection == false else { return }
        history.tell(.serverTrustEvaluated(trust, nil))
    }
}

extension ExchangeActor: SecureTransportEvents {
    nonisolated func transportDidReceiveCertificates(_ chain: CertificateChain?) {
        onEngineThread.evaluate(chain, in: .first)
    }
}

extension LaterAttempt: SecureTransportEvents {
    func transportDidReceiveCertificates(_ chain: CertificateChain?) {
        request.onEngineThread.evaluate(chain, in: .later)
    }
}
