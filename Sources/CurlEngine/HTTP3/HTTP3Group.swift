import CCurl
private import Glibc

/// The HTTP/3 connections of an engine, with the requests on them: a multi handle of libcurl, which speaks QUIC and HTTP/3. It belongs to
/// the engine thread.
///
/// libcurl itself counts the streams of its connections, makes others up to a limit, and lets requests wait. It takes hosts for names that
/// each pool has for itself, with addresses that the engine has looked up, so that a connection serves its pool alone.
final class HTTP3Group: MultiHandle {
    private let configuration: EngineConfiguration
    private let loop: EventLoop
    /// The sockets that libcurl has opened.
    private var sockets: [Int32: HTTP3Socket] = [:]
    /// The numbers in the names of pools.
    private var numbers: [String: Int] = [:]
    private var lastNumber = 0
    /// The instant at which the last request ended.
    private(set) var lastUse: EngineInstant

    init?(_ engine: CurlEngine, watch: CallWatch) {
        configuration = engine.configuration
        loop = engine.executor.engineLoop
        lastUse = engine.now
        super.init(watch: watch)
        set(CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
        set(CURLMOPT_MAXCONNECTS, configuration.maximumConnections)
        set(CURLMOPT_MAX_HOST_CONNECTIONS, configuration.sharedConnections)
    }

    deinit {
        cleanUp()
        for easy in handles {
            easy.exchange?.transfer.abandon()
            easy.exchange = nil
        }
    }

    /// Whether requests are in libcurl.
    var isBusy: Bool { !handles.isEmpty }

    /// The number of open sockets.
    var socketCount: Int { sockets.count }

    /// Whether there are connections, and no requests.
    var isIdle: Bool { handles.isEmpty && !sockets.isEmpty }

    /// Returns the addresses with which the connection of a pool was made; `nil` if there is none.
    func addresses(of pool: String) -> [IPAddress]? {
        numbers[pool] == nil ? nil : sockets.values.first { $0.pool == pool }?.addresses
    }

    // MARK: Pools

    /// Returns the name that libcurl has for the host of a pool.
    func hostName(of pool: String) -> String {
        let number = numbers[pool] ?? lastNumber + 1
        if numbers[pool] == nil {
            // An unused pool gets another name, and other connections.
            if numbers.count >= Self.maximumPools { numbers = [:] }
            (numbers[pool], lastNumber) = (number, number)
        }
        return "http3-\(number).trellis.invalid"
    }

    private static let maximumPools = 1024

    /// Lets further requests of a pool use none of the present connections.
    func leaveConnections(of pool: String) { numbers[pool] = nil }

    /// Lets further requests use none of the present connections.
    func leaveConnections() { numbers = [:] }

    // MARK: Requests

    /// Passes the request of a transfer to libcurl. Returns the failure if libcurl refuses it.
    func begin(_ transfer: Transfer, at addresses: [IPAddress]) -> EngineFailure? {
        guard let easy = unsafe EasyHandle(configuration: configuration, share: nil) else { return .outOfMemory }
        let exchange = HTTP3Exchange(transfer, at: addresses, in: self, easy)
        guard exchange.prepare() else {
            return EngineFailure(kind: .unsupported, message: "an option of the request")
        }
        if let failure = add(easy) { return failure }
        easy.exchange = exchange
        transfer.connection.http3.exchange = exchange
        return nil
    }

    /// Removes a request from libcurl. Unless its response has ended, its stream is reset.
    func remove(_ exchange: HTTP3Exchange) {
        exchange.transfer.connection.http3.exchange = nil
        guard remove(exchange.easy) else { return }
        exchange.easy.exchange = nil
        lastUse = loop.now
        stopUsing(exchange)
    }

    /// Passes the paused directions of a request to libcurl.
    func pause(_ exchange: HTTP3Exchange, _ bits: Int32) {
        inside { _ = unsafe curl_easy_pause(exchange.easy.curl, bits) }
    }

    // MARK: Turns

    /// Handles a ready socket. Returns `false` if the socket is not libcurl's.
    func isReady(_ ready: ReadySocket) -> Bool {
        guard sockets[ready.descriptor]?.generation == ready.generation else { return false }
        act(on: ready)
        return true
    }

    override func didEnd(_ easy: EasyHandle, _ code: CURLcode) { easy.exchange?.didEnd(code) }

    // MARK: Sockets

    /// Records a socket that libcurl has opened for a request.
    func didOpen(_ socket: Int32, for exchange: HTTP3Exchange) {
        lastGeneration = (lastGeneration &+ 1) & Self.generations
        sockets[socket] = HTTP3Socket(
            generation: lastGeneration, pool: exchange.transfer.options.pool, addresses: exchange.addresses)
        watch.didOpen(socket)
    }

    /// Returns the socket with a local port; -1 if there is none, or nobody observes the connections.
    func socket(from port: Int32) -> Int32 {
        guard configuration.connectionObserver != nil, port > 0 else { return -1 }
        return sockets.keys.first { ccurl_socket_port($0) == port } ?? -1
    }

    /// The generations of these sockets, which the sockets of connections over TCP do not have.
    private static let generations: UInt32 = (1 << 31) - 1
    private var lastGeneration: UInt32 = 0

    /// Records that a request is about to be sent on a socket.
    func begin(_ exchange: HTTP3Exchange, on socket: Int32, isNew: Bool) {
        // libcurl may send a request again, on another connection.
        stopUsing(exchange)
        exchange.socket = sockets[socket].map { (number: socket, generation: $0.generation) }
        if isNew, sockets[socket] != nil, let observer = configuration.connectionObserver {
            sockets[socket]?.observation = observer.begin(exchange.transfer.options.url.text)
        }
        changeUsers(of: socket, by: 1)
    }

    /// Records that a request has left its connection, whose socket may be closed, and its number another one's.
    private func stopUsing(_ exchange: HTTP3Exchange) {
        guard let (socket, generation) = exchange.socket, sockets[socket]?.generation == generation else { return }
        changeUsers(of: socket, by: -1)
    }

    private func changeUsers(of socket: Int32, by change: Int) {
        guard var entry = sockets[socket] else { return }
        let wasIdle = entry.users == 0
        entry.users += change
        sockets[socket] = entry
        if wasIdle != (entry.users == 0) { entry.observation?.change(isIdle: entry.users == 0) }
    }

    override func want(_ socket: Int32, _ interest: SocketInterest) {
        guard let generation = sockets[socket]?.generation else { return }
        _ = loop.watch(socket, generation: generation, for: interest)
    }

    fileprivate func close(_ socket: Int32) -> Int32 {
        watch.willClose(socket)
        sockets.removeValue(forKey: socket)?.observation?.end()
        return Glibc.close(socket)
    }

    /// Returns whether the local address of a connection meets a condition.
    func hasConnection(from isLost: (IPAddress) -> Bool) -> Bool {
        sockets.keys.contains { socket in IPAddress(localOf: socket).map(isLost) ?? false }
    }
}

/// A socket of libcurl's for a QUIC connection.
private struct HTTP3Socket {
    let generation: UInt32
    let pool: String
    let addresses: [IPAddress]
    /// The number of requests on the connection.
    var users = 0
    var observation: (any ConnectionObservation)?
}

extension Callbacks {
    /// The callback for closing a socket. Its context is the group.
    static let closeHTTP3Socket: ccurl_closesocket_callback = { context, descriptor in
        guard let context = unsafe context else { return close(descriptor) }
        return unsafe Unmanaged<HTTP3Group>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.close(descriptor) }
    }
}
