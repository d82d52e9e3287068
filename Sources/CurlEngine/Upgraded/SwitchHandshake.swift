import CCurl

/// The request of a transfer that asks the server to switch protocols, and its response (RFC 9110, section 7.8), on a connection that
/// libcurl has made and left to the engine.
///
/// A response other than 101 is a response as to any request; the connection ends with it. After a 101 the connection belongs to a
/// ``SwitchedConnection``, with the bytes that followed the head.
final class SwitchHandshake {
    /// The next step of the engine.
    enum Step {
        /// The engine waits until the socket is ready.
        case wait(SocketInterest)
        /// There is more to do, in the next turn of the loop.
        case goOn
        /// The transfer has ended; ``Transfer/failure`` is the reason if it has failed.
        case end
    }

    /// The number of bytes that are sent, or received, in one turn of the loop, so that a fast server does not delay other connections.
    static let bytesPerTurn = 256 << 10
    /// The most bytes that are received by one call.
    static let receiveSize = 64 << 10

    let socket: Int32
    /// The interest in the socket that was last set.
    var interest: SocketInterest?
    private unowned let transfer: Transfer
    /// The bytes of the request; empty after a response of status 101.
    private var request: [UInt8]
    private var sentCount = 0
    /// The reason why the request could not be sent. The server may have responded before.
    private var sendFailure: EngineFailure?
    private var decoder: HTTP1ResponseDecoder
    /// The bytes that were received last, of which the first ones are used.
    private var input: [UInt8] = []
    private var used = 0
    /// The times of libcurl's connection, in microseconds, and the instant at which the engine has taken over.
    private let connectTime: Int64
    private let start: EngineInstant
    private var firstByte: EngineInstant?

    init(_ transfer: Transfer, _ easy: EasyHandle, socket: Int32, now: EngineInstant) {
        self.transfer = transfer
        self.socket = socket
        var encoder = HTTP1RequestEncoder(defaults: easy.configuration.defaultHeaderLines)
        var request: [UInt8] = []
        var traits = HTTP1RequestTraits.switchesProtocols
        do throws(EngineFailure) {
            traits = try encoder.append(transfer.options, to: &request).traits
        } catch {
            transfer.failure = error
        }
        self.request = request
        decoder = HTTP1ResponseDecoder(traits, limit: transfer.options.maximumHeaderBytes)
        let report = easy.report(of: transfer)
        connectTime = max(report.connect, report.tls)
        start = now
    }

    /// Returns the measurements with what libcurl does not know.
    func completed(_ report: TransferReport) -> TransferReport {
        var report = report
        let moved = transfer.connection.switched?.movedBytes ?? (sent: 0, received: 0)
        report.bytesSent = Int64(sentCount) + moved.sent
        report.bytesReceived += moved.received
        report.firstByte = firstByte.map { connectTime + $0.nanoseconds(since: start) / 1000 } ?? 0
        return report
    }

    /// Whether the complete request was sent.
    var hasSentRequest: Bool { transfer.connection.switched != nil || sentCount == request.count }

    // MARK: Exchange

    /// Sends the request and receives the response, as far as that is possible now.
    func advance(_ channel: ConnectionChannel, _ buffer: UnsafeMutableRawBufferPointer) -> Step {
        guard transfer.failure == nil else { return .end }
        guard !transfer.pauses.isSuspended else { return .wait([]) }
        var interest: SocketInterest = .read
        if !send(channel) { interest.insert(.write) }
        var room = Self.bytesPerTurn
        while !isOver {
            if let step = read() { return step }
            if isHeld { return .wait(interest.subtracting(.read)) }
            guard room > 0 else { return .goOn }
            switch unsafe channel.receive(into: buffer) {
            case .moved(let count):
                room -= count
                transfer.activity.last = transfer.engine.now
                if firstByte == nil { firstByte = transfer.engine.now }
                unsafe input += UnsafeRawBufferPointer(rebasing: buffer[..<count])
            case .mustWait, .mustReceive: return .wait(interest)
            case .ended:
                // An alert of TLS may be the reason for the end.
                return end(firstByte == nil ? channel.failure(CURLE_GOT_NOTHING) : nil)
            case .failed(let failure): return end(failure)
            }
        }
        return .wait([])
    }

    /// Whether this transfer has ended for its delegate, or the connection has another owner.
    private var isOver: Bool { transfer.isCancelled || transfer.connection.switched != nil }

    /// Whether the reader of the body takes no more bytes at present.
    private var isHeld: Bool {
        transfer.pauses.isReceivingPaused || transfer.pauses.isSuspended || transfer.pauses.isYielding
    }

    /// Sends the rest of the request. Returns `false` if a part is left.
    private func send(_ channel: ConnectionChannel) -> Bool {
        while sentCount < request.count, sendFailure == nil {
            let outcome = unsafe request.withUnsafeBytes { bytes in
                unsafe channel.send(UnsafeRawBufferPointer(rebasing: bytes[sentCount...]))
            }
            switch outcome {
            case .moved(let count):
                sentCount += count
                transfer.activity = (transfer.engine.now, transfer.engine.now)
            case .mustWait, .mustReceive: return false
            case .failed(let failure): sendFailure = failure
            case .ended: return true
            }
        }
        return true
    }

    private func fail(_ kind: EngineFailure.Kind, _ message: String = "") -> Step {
        if transfer.failure == nil { transfer.failure = EngineFailure(kind: kind, message: message) }
        return .end
    }

    /// Ends the transfer with the connection.
    private func end(_ failure: EngineFailure?) -> Step {
        if !decoder.hasStarted, let sendFailure { return fail(sendFailure.kind, sendFailure.message) }
        if let failure {
            return fail(decoder.hasFinalHead ? .bodyCutShort : failure.kind, failure.message)
        }
        do throws(EngineFailure) { _ = try decoder.connectionEnded() } catch { return fail(error.kind, error.message) }
        return .end
    }

    // MARK: Response

    /// Uses the bytes that were received. Returns the next step; `nil` if more bytes are needed.
    private func read() -> Step? {
        while !isOver, !isHeld {
            do throws(EngineFailure) {
                switch unsafe try decoder.next(in: input.span.bytes, at: &used) {
                case .more:
                    (input, used) = ([], 0)
                    return nil
                case .informational(let head): transfer.delegate?.transferDidReceiveInformational(head)
                case .head(let head):
                    unsafe transfer.parser.adopt(head, receivedBytes: decoder.headBytes)
                    transfer.delegate?.transferDidReceiveHead(head)
                case .body(let range):
                    _ = unsafe input.withUnsafeBytes { bytes in
                        unsafe transfer.receiveBody(UnsafeRawBufferPointer(rebasing: bytes[range]))
                    }
                case .end(let trailers):
                    unsafe transfer.parser.adopt(trailers: trailers, receivedBytes: decoder.headBytes)
                    return .end
                case .switched(let head): try switchProtocols(head)
                }
            } catch {
                return fail(error.kind, error.message)
            }
            if transfer.failure != nil { return .end }
        }
        return isOver ? .wait([]) : nil
    }

    private func switchProtocols(_ head: WireHead) throws(EngineFailure) {
        // After a 101 to a part of the request, the rest of the request would be taken for the other protocol.
        guard sentCount == request.count, sendFailure == nil else {
            throw EngineFailure(kind: .head(.unexpectedStatus(head.status)), message: "")
        }
        unsafe transfer.parser.adopt(head, receivedBytes: decoder.headBytes)
        let connection = SwitchedConnection(
            transfer, received: unsafe input.span.bytes.extracting(used..<input.count),
            plainSocket: -1)
        (input, used, request) = ([], 0, [])
        transfer.connection.switched = connection
        transfer.delegate?.transferDidSwitchProtocols(head, connection)
    }
}
