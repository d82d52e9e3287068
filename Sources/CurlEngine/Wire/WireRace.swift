import CCurl
private import Glibc

/// The attempts to make a connection for a transfer: over TCP to one address after the other (RFC 8305), or to a Unix domain socket.
///
/// The addresses of the two versions of IP take turns. The next attempt begins when the one before has failed, or has taken a while; the
/// first that succeeds ends the others.
final class WireRace: EngineTimerTarget {
    /// The time from the beginning of an attempt to the next one (RFC 8305, section 5).
    static let delay = Duration.milliseconds(250)
    /// The time between two attempts at a Unix domain socket whose server has accepted too few connections yet.
    private static let patience = Duration.milliseconds(20)

    let transfer: Transfer
    /// The port of the server.
    let port: UInt16
    /// The address for which a SOCKS proxy is asked, if it wants one.
    let far: IPAddress?
    private let addresses: [IPAddress]
    private var next = 0
    /// The sockets that are being connected, with their peers.
    private var attempts: [(socket: Int32, peer: Peer)] = []
    private var timer: EngineTimer?
    /// The error of the attempt that failed last.
    private var error: Int32 = 0
    /// The failure of an attempt that says more than its error, if any.
    var failure: EngineFailure?

    /// Creates the attempts for a transfer. `addresses` are in the order of preference.
    init(_ transfer: Transfer, addresses: [IPAddress], port: UInt16, far: IPAddress?) {
        self.transfer = transfer
        self.port = port
        self.far = far
        self.addresses = Self.interleaved(addresses)
    }

    /// Returns the addresses so that the versions of IP take turns, beginning with the first one's (RFC 8305, section 4).
    static func interleaved(_ addresses: [IPAddress]) -> [IPAddress] {
        guard let first = addresses.first else { return [] }
        let (same, other) = (
            addresses.filter { $0.isIPv6 == first.isIPv6 }, addresses.filter { $0.isIPv6 != first.isIPv6 }
        )
        var result: [IPAddress] = []
        for index in 0..<max(same.count, other.count) {
            if index < same.count { result.append(same[index]) }
            if index < other.count { result.append(other[index]) }
        }
        return result
    }

    private var engine: CurlEngine { transfer.engine }

    /// Begins the next attempt. Ends the transfer if none is left.
    func beginNext() {
        stopTimer()
        if let path = transfer.options.route.unixSocket { return begin(path) }
        while next < addresses.count {
            let address = addresses[next]
            guard begin(address) else {
                // Without a descriptor, the transfer starts again.
                guard transfer.wire.race === self else { return }
                next += 1
                continue
            }
            next += 1
            if next < addresses.count { startTimer(Self.delay) }
            return
        }
        if attempts.isEmpty { engine.wire.isLost(self, error: error) }
    }

    private func begin(_ address: IPAddress) -> Bool {
        let route = transfer.options.route
        if let source = route.source, source.isIPv6 != address.isIPv6 {
            error = EADDRNOTAVAIL
            return false
        }
        transfer.reportConnection(to: "\(address.bracketed):\(port)")
        let (socket, isSource) = route.open(
            address, port, sendingLimit: engine.configuration.sendingLimitMilliseconds)
        guard socket >= 0 else {
            if isSource {
                failure = .unusableSource(route.parts.interface ?? "", error: -socket)
            }
            hasFailed(-socket)
            return false
        }
        watch(socket, Peer(address: "\(address)", port: Int(port)))
        return true
    }

    /// Connects to a Unix domain socket. The system does not tell when a full queue of connections has room again.
    private func begin(_ path: TransferRoute.Socket) {
        guard next == 0 else { return engine.wire.isLost(self, error: error) }
        let isForLibcurl = transfer.options.needsHandshake && !transfer.options.route.isConnectedByEngine
        let socket = unsafe isForLibcurl ? ccurl_socket_open_unix() : ccurl_unix_connect(path.name, path.isAbstract)
        // Another proxy may be tried.
        guard socket != -EAGAIN || transfer.options.route.proxy != nil else {
            engine.wire.waiting.insert(transfer)
            return startTimer(Self.patience)
        }
        engine.wire.waiting.remove(transfer)
        next = 1
        transfer.reportConnection(to: path.text)
        guard socket >= 0 else {
            hasFailed(-socket)
            if transfer.wire.race === self { engine.wire.isLost(self, error: error) }
            return
        }
        // libcurl reports no port for a proxy at a socket.
        let port = transfer.options.route.proxy == nil ? Int(port) : 0
        watch(socket, Peer(address: path.isAbstract ? "" : path.name, port: port))
    }

    private func hasFailed(_ error: Int32) {
        self.error = error
        if error == EMFILE || error == ENFILE { engine.wire.lacksDescriptor(self, error: error) }
    }

    /// Waits until a socket is connected.
    private func watch(_ socket: Int32, _ peer: Peer) {
        attempts.append((socket, peer))
        let generation = engine.wire.add(socket, .attempt(self))
        _ = engine.executor.engineLoop.watch(socket, generation: generation, for: .write)
    }

    /// Handles the socket of an attempt that is connected, or has failed.
    func isReady(_ socket: Int32) {
        guard let index = attempts.firstIndex(where: { $0.socket == socket }) else { return }
        let failure = ccurl_socket_error(socket)
        let peer = attempts.remove(at: index).peer
        guard failure == 0 else {
            error = failure
            engine.wire.closeAttempt(socket)
            return beginNext()
        }
        end()
        engine.wire.isWon(self, by: socket, to: peer)
    }

    /// Begins the next attempt because the last one takes long.
    func timerIsDue() {
        timer = nil
        beginNext()
    }

    private func startTimer(_ delay: Duration) {
        let loop = engine.executor.engineLoop
        let timer = EngineTimer(self)
        self.timer = timer
        loop.set(timer, onSystemAt: loop.systemNow.advanced(by: delay))
    }

    private func stopTimer() {
        guard let timer else { return }
        self.timer = nil
        engine.executor.engineLoop.cancelOnSystem(timer)
    }

    /// Closes the sockets of the attempts that are left.
    func end() {
        stopTimer()
        if attempts.isEmpty { engine.wire.waiting.remove(transfer) }
        next = addresses.count
        for attempt in attempts { engine.wire.closeAttempt(attempt.socket) }
        attempts = []
    }

    /// Closes the sockets because the engine ends.
    func abandon() {
        for attempt in attempts { _ = Glibc.close(attempt.socket) }
        attempts = []
        timer = nil
        transfer.abandon()
    }
}
