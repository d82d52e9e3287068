import CCurl
private import Glibc

/// The attempts to make a TCP connection for a transfer, to one address after the other (RFC 8305).
///
/// The addresses of the two versions of IP take turns. The next attempt begins when the one before has failed, or has taken a while; the
/// first that succeeds ends the others.
final class WireRace: EngineTimerTarget {
    /// The time from the beginning of an attempt to the next one (RFC 8305, section 5).
    static let delay = Duration.milliseconds(250)

    let transfer: Transfer
    /// The port of the server.
    let port: UInt16
    private let addresses: [IPAddress]
    private var next = 0
    /// The sockets that are being connected, with their addresses.
    private var attempts: [(socket: Int32, address: IPAddress)] = []
    private var timer: EngineTimer?
    /// The error of the attempt that failed last.
    private var error: Int32 = 0
    /// The failure of an attempt that says more than its error, if any.
    var failure: EngineFailure?

    /// Creates the attempts for a transfer. `addresses` are in the order of preference.
    init(_ transfer: Transfer, addresses: [IPAddress], port: UInt16) {
        self.transfer = transfer
        self.port = port
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
        while next < addresses.count {
            let address = addresses[next]
            guard begin(address) else {
                // Without a descriptor, the transfer starts again.
                guard transfer.wire.race === self else { return }
                next += 1
                continue
            }
            next += 1
            if next < addresses.count { startTimer() }
            return
        }
        if attempts.isEmpty { engine.wire.isLost(self, error: error) }
    }

    private func begin(_ address: IPAddress) -> Bool {
        let source = transfer.options.route.source?.bytes ?? []
        guard source.isEmpty || source.count == address.bytes.count else {
            error = EADDRNOTAVAIL
            return false
        }
        transfer.reportConnection(to: "\(address.bracketed):\(port)")
        var isSource = false
        let socket = unsafe address.bytes.withUnsafeBufferPointer { bytes in
            unsafe source.withUnsafeBufferPointer { source in
                guard let start = bytes.baseAddress else { return -EAFNOSUPPORT }
                return unsafe ccurl_tcp_connect(
                    start, bytes.count, address.scope, port, source.baseAddress, source.count,
                    engine.configuration.sendingLimitMilliseconds, &isSource)
            }
        }
        guard socket >= 0 else {
            error = -socket
            if isSource {
                failure = .unusableSource(transfer.options.route.parts.interface ?? "", error: error)
            }
            if error == EMFILE || error == ENFILE { engine.wire.lacksDescriptor(self, error: error) }
            return false
        }
        attempts.append((socket, address))
        // libcurl may have closed a socket of its own with this number since its last changes were passed to the kernel.
        unsafe engine.multi?.sockets.willClose(socket)
        let generation = engine.wire.add(socket, .attempt(self))
        _ = engine.executor.engineLoop.watch(socket, generation: generation, for: .write)
        return true
    }

    /// Handles the socket of an attempt that is connected, or has failed.
    func isReady(_ socket: Int32) {
        guard let index = attempts.firstIndex(where: { $0.socket == socket }) else { return }
        let failure = ccurl_socket_error(socket)
        let address = attempts.remove(at: index).address
        guard failure == 0 else {
            error = failure
            engine.wire.closeAttempt(socket)
            return beginNext()
        }
        end()
        engine.wire.isWon(self, by: socket, to: Peer(address: "\(address)", port: Int(port)))
    }

    /// Begins the next attempt because the last one takes long.
    func timerIsDue() {
        timer = nil
        beginNext()
    }

    private func startTimer() {
        let loop = engine.executor.engineLoop
        let timer = EngineTimer(self)
        self.timer = timer
        loop.set(timer, onSystemAt: loop.systemNow.advanced(by: Self.delay))
    }

    private func stopTimer() {
        guard let timer else { return }
        self.timer = nil
        engine.executor.engineLoop.cancelOnSystem(timer)
    }

    /// Closes the sockets of the attempts that are left.
    func end() {
        stopTimer()
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
