/// A step of a transfer on its way to the server, for a delegate that observes the steps.
package enum TransferStep: Hashable, Sendable {
    /// The name of a host is being looked up, for this transfer or for another one.
    case lookingUp(host: String)
    /// An address of the host is known.
    case lookedUp(host: String)
    /// A connection is made to an address with its port, or to the path of a socket.
    case connecting(to: String)
    /// No connection is made to an address, which is in a denied network.
    case refused(IPAddress, AddressPrefix)
    /// A TLS handshake with a host begins.
    case handshaking(with: String)
    /// The head of a request with a body was passed to the system. Reported after ``Transfer/reportSending()``, before ``sent``.
    case headSent
    /// The complete request was passed to the system. Reported after ``Transfer/reportSending()``.
    case sent
}

/// The reports of steps. A transfer whose delegate observes none makes none.
extension Transfer {
    /// The state of the report that the request was sent.
    enum SendingReport {
        /// The report is not wanted.
        case none
        /// The report is wanted.
        case wanted
        /// The engine checks at the end of each turn whether the request was sent.
        case checked
        /// The request was sent, or the transfer has ended.
        case over
    }

    private var stepObserver: (any TransferDelegate)? { delegate.flatMap { $0.observesSteps ? $0 : nil } }

    /// Reports that the transfer waits for the lookup of its host, once.
    func reportLookup() {
        guard !reports.isLookupReported, let stepObserver else { return }
        reports.isLookupReported = true
        stepObserver.transferDidReach(.lookingUp(host: options.route.lookedUpHost(for: options.url)))
    }

    /// Reports that a connection to an address with its port is made, which has been looked up.
    func reportConnection(to address: @autoclosure () -> String) {
        guard let stepObserver else { return }
        if reports.isLookupReported {
            reports.isLookupReported = false
            stepObserver.transferDidReach(.lookedUp(host: options.route.lookedUpHost(for: options.url)))
        }
        stepObserver.transferDidReach(.connecting(to: address()))
    }

    /// Reports that no connection is made to an address, which is in a denied network.
    func reportRefusal(of address: IPAddress, by network: AddressPrefix) {
        stepObserver?.transferDidReach(.refused(address, network))
    }

    /// Reports that a TLS handshake with a host begins.
    func reportHandshake(with host: String) { stepObserver?.transferDidReach(.handshaking(with: host)) }

    // MARK: The connection

    /// The version of HTTP for which the connection was made; `nil` if there is no connection.
    package var negotiatedVersion: WireVersion? {
        guard attempts > 0 else { return nil }
        return switch options.version {
        case .http1: .http1_1
        case .http2Only, .http2PriorKnowledge: .http2
        case .http3Only: .http3
        case .http2OverTLS: connection.hadStreams ? .http2 : .http1_1
        case .http3WithFallback: !isOnWire ? .http3 : connection.hadStreams ? .http2 : .http1_1
        }
    }

    /// The local port of the connection; `nil` if it has none, or there is no connection.
    package var connectionPort: Int? { attempts > 0 && connection.localPort > 0 ? Int(connection.localPort) : nil }

    // MARK: The end of the request

    /// Makes the transfer report ``TransferStep/headSent`` and ``TransferStep/sent`` as soon as the head and the complete request were sent
    /// on the connection that is ready.
    package func reportSending() {
        reports.isHeadReported = if case .none = options.body { true } else { false }
        guard reports.sending != .checked else { return }
        reports.sending = .wanted
        checkSending()
    }

    /// Makes the engine check whether the request was sent, if the report is wanted, and the head is not reported or the connection has
    /// taken the complete body.
    func checkSending() {
        guard reports.sending == .wanted, !reports.isHeadReported || hasTakenBody else { return }
        reports.sending = .checked
        engine.checkSending(of: self)
    }

    /// Reports that the request was sent, if it was, because its response or its end has come in the turn in which the engine would check
    /// that.
    func reportSentBeforeAnswer() {
        reportSentHead()
        guard hasSentRequest else { return }
        reports.sending = .over
        delegate?.transferDidReach(.sent)
    }

    /// Reports that the head of a request with a body was sent, once for each connection.
    func reportSentHead() {
        guard !reports.isHeadReported, attempts > 0 else { return }
        let isSent =
            connection.http3.exchange?.hasSent(bodyBytes: 0)
            ?? wire.stream?.isHeadSent ?? wire.connection?.outgoing.isHeadSent
        guard isSent == true else { return }
        reports.isHeadReported = true
        delegate?.transferDidReach(.headSent)
    }

    /// Whether the connection has taken the complete body. It takes a body in memory at once.
    var hasTakenBody: Bool {
        guard case .stream(let length) = options.body else { return true }
        guard !sending.isStopped else { return false }
        // The end of a body whose length is known may be announced after its response has come.
        return upload.isAtEnd || length.map { sending.takenBytes >= $0 } == true
    }

    /// Whether the complete request was passed to the system.
    package var hasSentRequest: Bool {
        guard attempts > 0, hasTakenBody else { return false }
        guard let exchange = connection.http3.exchange else {
            return wire.stream?.isRequestSent ?? wire.connection?.outgoing.isSent ?? false
        }
        return switch options.body {
        case .none: exchange.hasSent(bodyBytes: 0)
        case .bytes(let bytes): exchange.hasSent(bodyBytes: Int64(bytes.count))
        case .stream: exchange.hasSent(bodyBytes: sending.takenBytes)
        }
    }
}
