import CCurl
private import Glibc

/// A connection on which the engine itself speaks HTTP. It belongs to the engine thread.
class EngineConnection: @unchecked Sendable {
    // Unchecked: every member but `socket` is only accessed on the engine thread.

    final let link: WireLink
    /// The number that distinguishes this use of the descriptor from the next one.
    final let generation: UInt32
    final let peer: Peer
    /// The local port.
    final let port: Int32
    /// The instant at which the connection was made.
    final let made: EngineInstant
    /// The observation of the connection, if it is observed.
    final let observation: (any ConnectionObservation)?
    /// The directions in which the kernel watches the socket.
    final var interest: SocketInterest = []
    /// The instant at which the last request ended.
    final var lastUse: EngineInstant
    /// Whether the connection gets no more requests: the machine has lost its local address, or its server is left.
    final var isRetired = false
    /// The name of the queue of the last request, for which the connection is counted.
    final var queue: String

    /// Creates the connection that was made for a transfer.
    init(_ link: WireLink, generation: UInt32, peer: Peer, for transfer: Transfer) {
        self.link = link
        self.generation = generation
        self.peer = peer
        port = ccurl_socket_port(link.socket)
        made = transfer.engine.now
        observation = transfer.engine.configuration.connectionObserver?.begin(transfer.options.url.text)
        lastUse = made
        queue = transfer.options.queue
    }

    final var socket: Int32 { link.socket }

    /// Sets the directions in which the kernel watches the socket.
    final func watch(for interest: SocketInterest, on engine: CurlEngine) {
        guard self.interest != interest else { return }
        self.interest = interest
        _ = engine.executor.engineLoop.watch(socket, generation: generation, for: interest)
    }
}

/// A connection on which the engine itself speaks HTTP/1.1, one request at a time. It belongs to the engine thread.
final class WireConnection: EngineConnection, @unchecked Sendable {
    // Unchecked: every member but `socket` is only accessed on the engine thread.

    /// The part of the present request that was not sent yet.
    struct Outgoing {
        /// The bytes that the socket has not taken, from ``start`` on.
        var bytes: [UInt8] = []
        var start = 0
        /// The rest of the body, which its source delivers.
        var body: HTTP1OutgoingBody?
        /// The number of bytes of the head, with a body that leaves together with it; the largest number before the head is written.
        var headSize = Int64.max
        /// The number of bytes that the system has taken.
        var sentCount: Int64 = 0
        /// Whether the body goes on as soon as the socket has room: a turn of the loop has ended before, or the socket was full.
        var isTurnOver = false
        /// Whether TLS must receive a message of the server before it sends more.
        var waitsForServer = false
        /// Whether TLS must send a message, for which the socket has no room, before it receives more.
        var waitsForRoom = false
        /// Whether the complete request was passed to the system, or is in ``bytes``.
        var isComplete = false
        /// The reason why the rest cannot be sent. The server may have responded before.
        var failure: EngineFailure?
        /// Whether the connection is broken, and was not ended by the server. The system reports that only once.
        var isBroken = false

        /// Whether bytes wait for the socket.
        var isWaiting: Bool { start < bytes.count }
        /// Whether the system has taken the head of the request.
        var isHeadSent: Bool { sentCount >= headSize && failure == nil }
        /// Whether the system has taken the complete request.
        var isSent: Bool { isComplete && !isWaiting && failure == nil }
    }

    /// The sending of a part of a file by another thread, during which the socket stays open.
    struct FileSending {
        var isUnderWay = false
        /// Whether the request ends with the part. The response is read once the end of the part is known: the connection would otherwise
        /// seem to have a response before its request.
        var isLast = false
        /// Whether the connection is closed, although its socket may still be open.
        var isClosed = false
    }

    let pool: WirePool
    /// The transfer whose request is on the connection; `nil` if the connection is idle.
    var transfer: Transfer?
    // Exclusivity is unchecked: one thread uses the decoder, which calls no code that uses it.
    @exclusivity(unchecked) var decoder: HTTP1ResponseDecoder
    var outgoing = Outgoing()
    /// The bytes that were received while the reader took none, if reading has stopped.
    var held: [UInt8]?
    /// The instant from which the server may have closed the idle connection, if it has told one.
    var expiry: EngineInstant?
    var fileSending = FileSending()
    /// Whether receiving goes on in the next turn of the loop.
    var receivesSoon = false
    /// Whether the connection goes on there after a switch of protocols.
    var advancesSoon = false

    /// Creates the connection that was made for a transfer.
    init(_ link: WireLink, generation: UInt32, peer: Peer, in pool: WirePool, for transfer: Transfer) {
        self.pool = pool
        unsafe decoder = HTTP1ResponseDecoder([], limit: 0)
        super.init(link, generation: generation, peer: peer, for: transfer)
    }
}

/// The socket of a connection, with its TLS, if any.
struct WireLink {
    let socket: Int32
    let tls: WireTLS?

    /// Receives bytes. Returns their number, 0 if the server has ended the connection, or a negative result. Only TLS has the results
    /// `CCURL_TLS_MORE`, `CCURL_TLS_FULL` and `CCURL_TLS_CUT_OFF`.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        if let tls { return unsafe tls.receive(buffer) }
        let count = unsafe recv(socket, buffer.baseAddress, buffer.count, Self.flags)
        return count >= 0 ? count : Int(errno == EAGAIN || errno == EINTR ? CCURL_TLS_WAIT : CCURL_TLS_FAILED)
    }

    /// Sends bytes. Returns the number that was taken, `CCURL_TLS_WAIT` or `CCURL_TLS_MORE` if none can be before the socket is ready, or
    /// TLS has received more, or `CCURL_TLS_FAILED`.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        if let tls { return unsafe tls.send(bytes) }
        while true {
            let count = unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, Self.flags)
            if count >= 0 { return count }
            guard errno == EINTR else { return Int(errno == EAGAIN ? CCURL_TLS_WAIT : CCURL_TLS_FAILED) }
        }
    }

    /// The result of ``push(_:)``.
    struct Push {
        /// The number of bytes that were taken.
        var count = 0
        /// The negative result of ``send(_:)`` that came before the last byte was taken; 0 if none did.
        var stop = 0
        /// The system's error then.
        var error: Int32 = 0
    }

    /// Sends as many bytes as are taken now.
    func push(_ bytes: UnsafeRawBufferPointer) -> Push {
        var push = Push()
        while push.count < bytes.count {
            let sent = unsafe send(UnsafeRawBufferPointer(rebasing: bytes[push.count...]))
            guard sent >= 0 else {
                (push.stop, push.error) = (sent, errno)
                break
            }
            push.count += sent
        }
        return push
    }

    /// Returns the failure of the last call.
    ///
    /// - Parameter error: The system's error.
    func failure(_ name: String, _ code: CURLcode, error: Int32 = errno) -> EngineFailure {
        if let failure = tls?.failure { return failure }
        let text = EngineFailure.systemText(error)
        return EngineFailure(code, detail: "\(name) failure: \(text)")
    }

    /// Returns whether the server has neither sent bytes nor ended the connection, which is idle.
    func isQuiet() -> Bool { tls?.isQuiet() ?? ccurl_socket_is_quiet(socket) }

    static let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
}

/// The connections to one origin by one route.
final class WirePool {
    /// The name of the pool (``TransferOptions/pool``).
    let name: String
    /// The idle connection that was used least recently; negative if there is none.
    @exclusivity(unchecked) var firstIdle: Int32 = -1
    /// The number of open connections.
    var count = 0

    init(_ name: String) { self.name = name }
}

/// The progress of a transfer over TCP.
struct WireProgress {
    /// The connection on which the request is sent.
    var connection: WireConnection?
    /// The connection on which the request has a stream, over HTTP/2.
    var http2: HTTP2Connection?
    /// The stream.
    var stream: HTTP2Stream?
    /// The part of the transfer among those that may share connections.
    var sharing = Sharing.none
    /// The attempts to make a connection.
    var race: WireRace?
    /// The handshakes on the connection that was made.
    var tls: WireTLS?
    /// Whether the system looks up the name of the host.
    var isLookingUp = false
    /// Whether the transfer is counted for a connection that is being made.
    var isCounted = false
    /// Whether a connection must be made, because an idle one was dead.
    var needsConnection = false
    /// Whether the server has refused HTTP/2 for the request.
    var mustSpeakHTTP1 = false
    /// Whether the connection has carried earlier requests.
    var isReused = false
    /// The instants of the steps, on the system's clock, in nanoseconds; zero before the step.
    var start: UInt64 = 0
    var lookedUp: UInt64 = 0
    var connected: UInt64 = 0
    var secured: UInt64 = 0
    var firstByte: UInt64 = 0

    /// Whether the transfer has a connection, or is on the way to one.
    var isUnderWay: Bool { hasBegun || sharing == .leading }

    /// Whether that is so, and the transfer is not queued to start.
    var hasBegun: Bool {
        connection != nil || race != nil || tls != nil || isLookingUp || http2 != nil || sharing == .waiting
            || sharing == .delayed
    }

    /// The parts of a transfer among those that may share connections.
    enum Sharing {
        /// The transfer has a connection, or needs one for itself.
        case none
        /// The transfer makes a connection for others too.
        case leading
        /// The transfer waits for a stream, or until the first connection shows which protocol the server speaks.
        case waiting
        /// The transfer waits for an instant, after the server has refused requests.
        case delayed
    }
}
