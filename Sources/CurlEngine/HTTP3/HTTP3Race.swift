/// A race for the requests to one origin by one route. libcurl makes an HTTP/3 connection for all of them by a probe, a transfer that sends
/// nothing.
final class HTTP3Race: TransferDelegate {
    let pool: String
    /// The probe; `nil` after its end.
    private(set) var probe: Transfer?
    /// The transfers whose way is open.
    private(set) var members: Set<Transfer> = []
    /// The transfer that began the race, whose delegate is told of the probe's steps.
    private let first: Transfer
    private let start = MonotonicClock.now()
    /// Whether a transfer was sent over TCP.
    var isLost = false

    /// Creates the race that a transfer begins.
    init(_ first: Transfer) {
        self.first = first
        pool = first.options.pool
    }

    /// Begins to make the HTTP/3 connection.
    func begin() {
        let probe = first.engine.makeTransfer(first.options.probe)
        probe.connection.http3.isProbe = true
        self.probe = probe
        first.engine.start(probe, delegate: self)
    }

    func enter(_ transfer: Transfer) {
        members.insert(transfer)
        transfer.connection.http3.race = self
    }

    func leave(_ transfer: Transfer) {
        members.remove(transfer)
        transfer.connection.http3.race = nil
    }

    /// Gives up the HTTP/3 connection. Returns whether a socket was opened for it.
    func cancel() -> Bool {
        let hasTried = probe?.connection.http3.exchange?.hasOpenedSocket ?? false
        probe?.cancel()
        probe = nil
        return hasTried
    }

    /// Returns the microseconds since the race began.
    var elapsed: Int64 { Int64(MonotonicClock.now().nanoseconds(since: start) / 1000) }

    /// Returns whether a transfer began the race, so that the connection was made for it.
    func isFirst(_ transfer: Transfer) -> Bool { first === transfer }

    // MARK: The probe

    var observesSteps: Bool { first.delegate?.observesSteps ?? false }

    func transferDidReach(_ step: TransferStep) {
        if !first.isCancelled, first.connection.http3.race === self { first.delegate?.transferDidReach(step) }
    }

    func transferDidEnd(_ end: consuming TransferEnd) {
        guard let probe else { return }
        self.probe = nil
        probe.engine.http3Races.probeDidEnd(probe, end, of: self)
    }

    // A probe has no request.
    func transferIsConnected() {}
    func transferDidReceiveInformational(_ head: WireHead) {}
    func transferDidReceiveHead(_ head: consuming WireHead) {}
    func transferDidReceiveBody(_ bytes: RawSpan) {}
    func transferNeedsBody() {}
}

/// The progress of a transfer over HTTP/3, and in a race for it.
struct HTTP3Progress {
    enum Way {
        /// The way is open.
        case open
        /// HTTP/3 is ahead: the transfer waits for its connection.
        case ahead
        /// The transfer also makes its way over TCP.
        case both
        /// The transfer waits for the HTTP/3 connection, because none could be made over TCP.
        case alone(EngineFailure)
        /// The transfer is sent over TCP.
        case decided
    }

    var way = Way.open
    /// Whether the transfer makes its way over TCP, or has made it.
    var isOverTCP: Bool {
        switch way {
        case .both, .decided: true
        case .open, .ahead, .alone: false
        }
    }
    /// Whether libcurl sends the request, over HTTP/3.
    var isChosen = false
    /// The request in libcurl.
    var exchange: HTTP3Exchange?
    /// The number of races that the transfer has entered.
    var raceCount = 0
    /// The race; `nil` before and after it.
    var race: HTTP3Race?
    /// Whether the transfer only makes a connection for a race.
    var isProbe = false
    /// Whether the probe has a connection.
    var isConnected = false
    /// The measurements of the connection, if it was made for the transfer, in a box as ``BodyReceiving/heldEnd``.
    var made: Boxed<TransferReport>?
    /// The microseconds that the race took before the transfer was passed to libcurl.
    var delay: Int64 = 0

    /// Adds the making of the connection to the measurements of the transfer.
    func complete(_ report: inout TransferReport) {
        if report.firstByte > 0 { report.firstByte += delay }
        guard let made = made?.value, report.isReusedConnection else { return }
        report.isReusedConnection = false
        (report.nameLookup, report.connect, report.tls) = (made.nameLookup, made.connect, made.tls)
    }
}
