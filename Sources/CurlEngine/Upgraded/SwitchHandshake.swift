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

    /// The part of the response that is received.
    private enum Part {
        case head
        case sizedBody(Int64)
        case chunkedBody(ChunkedBody)
        /// The body ends with the connection.
        case openBody
        case nothing
    }

    /// The number of bytes that are sent, or received, in one turn of the loop, so that a fast server does not delay other connections.
    static let bytesPerTurn = 256 << 10

    let socket: Int32
    /// The generation of the socket in the ``SocketTable``.
    let socketGeneration: UInt32
    /// The measurements of libcurl from the moment at which the engine took the connection; `nil` while libcurl has it.
    private(set) var takenReport: TransferReport?
    /// The interest in the socket that was last set.
    var interest: SocketInterest?
    /// The connection after a 101; `nil` before.
    private(set) var connection: SwitchedConnection?
    private unowned let transfer: Transfer
    /// The bytes of the request; empty after a response of status 101.
    private var request: [UInt8]
    private var sentCount = 0
    /// The reason why the request could not be sent. The server may have responded before.
    private var sendFailure: EngineFailure?
    private var part = Part.head
    /// The bytes that were received and not used.
    private var input: [UInt8] = []
    private var used = 0
    private var search = LineSearch()
    /// The times of libcurl's connection, in microseconds, and the instant at which the engine has taken over.
    private let connectTime: Int64
    private let start: EngineInstant
    private var firstByte: EngineInstant?
    /// The turn of the loop in which a writer last sent its bytes at once.
    var lastSendTurn = EngineInstant(nanoseconds: 0)

    init(_ transfer: Transfer, _ easy: EasyHandle, socket: Int32, now: EngineInstant) {
        self.transfer = transfer
        self.socket = socket
        socketGeneration = easy.socketGeneration
        request = RequestHeadBytes(transfer.options, defaults: easy.configuration.defaultHeaderLines).bytes
        let report = easy.report(of: transfer)
        connectTime = max(report.connect, report.tls)
        start = now
    }

    /// Returns the measurements with what libcurl does not know.
    func completed(_ report: TransferReport) -> TransferReport {
        var report = report
        let moved = connection?.movedBytes ?? (sent: 0, received: 0)
        report.bytesSent = Int64(sentCount) + moved.sent
        report.bytesReceived += moved.received
        report.firstByte = firstByte.map { connectTime + $0.nanoseconds(since: start) / 1000 } ?? 0
        return report
    }

    /// Records that the engine has taken the connection from libcurl, which has forgotten the interest in its socket.
    func didTakeConnection(_ report: TransferReport) {
        takenReport = report
        interest = nil
    }

    /// Whether the complete request was sent.
    var hasSentRequest: Bool { connection != nil || sentCount == request.count }

    /// Ends the connection, if there is one, because its engine or its transfer ends.
    func abandon() { connection?.end(with: ConnectionClosed()) }

    // MARK: Exchange

    /// Sends the request and receives the response, as far as that is possible now.
    func advance(_ channel: ConnectionChannel, _ buffer: UnsafeMutableRawBufferPointer) -> Step {
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
                unsafe input.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            case .mustWait: return .wait(interest)
            case .ended:
                // An alert of TLS may be the reason for the end.
                return end(firstByte == nil ? channel.failure(CURLE_GOT_NOTHING) : nil)
            case .failed(let failure): return end(failure)
            }
        }
        return .wait([])
    }

    /// Whether this transfer has ended for its delegate, or the connection has another owner.
    private var isOver: Bool { transfer.isCancelled || connection != nil }

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
            case .mustWait: return false
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
        if case .openBody = part, failure == nil { return .end }
        if case .head = part {
            let isEmpty = firstByte == nil
            if isEmpty, let sendFailure { return fail(sendFailure.kind, sendFailure.message) }
            if let failure { return fail(failure.kind, failure.message) }
            return fail(.head(.cutShort))
        }
        return fail(.bodyCutShort, failure?.message ?? "the server closed the connection")
    }

    // MARK: Response

    /// Uses the bytes that were received. Returns the next step; `nil` if more bytes are needed.
    private func read() -> Step? {
        defer { forgetUsed() }
        while !isOver, !isHeld {
            let isUsed: Bool
            switch part {
            case .head: isUsed = readHead()
            case .sizedBody(let rest): isUsed = readBody(rest)
            case .chunkedBody(let body): isUsed = readChunk(body)
            case .openBody: isUsed = deliver(input.count - used) > 0
            case .nothing: return .end
            }
            if transfer.failure != nil { return .end }
            if !isUsed { return nil }
        }
        return isOver ? .wait([]) : nil
    }

    private func forgetUsed() {
        if used == input.count { input.removeAll(keepingCapacity: false) } else { input.removeFirst(used) }
        search.forget(used)
        used = 0
    }

    /// Returns the next line with its line end; `nil` if it has not been received. A line above the limit is a failure.
    private func nextLine(limit: Int, _ failure: EngineFailure.Kind) -> Range<Int>? {
        if let end = search.lineEnd(in: input, from: used) { return used..<end + 1 }
        if input.count - used > limit { _ = fail(failure, "a line is longer than \(limit) bytes") }
        return nil
    }

    private func readHead() -> Bool {
        let limit = transfer.options.maximumHeaderBytes
        guard let line = nextLine(limit: limit, .head(.tooLarge(limit: limit))) else { return false }
        used = line.upperBound
        do throws(HeadFailure) {
            switch try parse(line) {
            case .more: break
            case .informational: transfer.delegate?.transferDidReceiveInformational(unsafe transfer.parser.takeHead())
            case .final: try receive(unsafe transfer.parser.takeHead())
            }
        } catch {
            transfer.failure = EngineFailure(kind: .head(error), message: "")
        }
        return true
    }

    private func parse(_ line: Range<Int>) throws(HeadFailure) -> HeadParser.Outcome {
        let result = unsafe input.withUnsafeBytes { bytes -> Result<HeadParser.Outcome, HeadFailure> in
            do throws(HeadFailure) {
                return .success(try unsafe transfer.parser.parse(UnsafeRawBufferPointer(rebasing: bytes[line])))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func receive(_ head: WireHead) throws(HeadFailure) {
        guard unsafe transfer.parser.isHTTP1 else { throw .badStatusLine("HTTP/2 on a connection for HTTP/1.1") }
        if head.status == 101 {
            // After a 101 to a part of the request, the rest of the request would be taken for the other protocol.
            guard head.version == .http1_1, sentCount == request.count, sendFailure == nil else {
                throw .unexpectedStatus(101)
            }
            let connection = SwitchedConnection(
                transfer, received: Array(input[used...]),
                plainSocket: transfer.options.isEncryptedOnTheWire ? -1 : socket)
            used = input.count
            request = []
            self.connection = connection
            transfer.delegate?.transferDidSwitchProtocols(head, connection)
            return
        }
        part = try body(of: head)
        transfer.delegate?.transferDidReceiveHead(head)
    }

    /// Returns the framing of the body that follows a head (RFC 9112, section 6.3).
    private func body(of head: WireHead) throws(HeadFailure) -> Part {
        if WireHead.hasNoBody(method: transfer.options.method, status: head.status) { return .nothing }
        let codings = head.fields.values(of: "transfer-encoding")
        if let coding = codings.first {
            guard codings.count == 1, unsafe coding.withUnsafeBytes({ unsafe $0.isEqualIgnoringCase("chunked") }) else {
                throw .badFieldLine("Transfer-Encoding: \(String(decoding: coding, as: UTF8.self))")
            }
            return .chunkedBody(ChunkedBody())
        }
        guard let length = unsafe transfer.parser.contentLength else { return .openBody }
        return length > 0 ? .sizedBody(length) : .nothing
    }

    private func readBody(_ rest: Int64) -> Bool {
        let count = deliver(Int(min(rest, Int64(input.count - used))))
        part = rest > Int64(count) ? .sizedBody(rest - Int64(count)) : .nothing
        return count > 0
    }

    private func readChunk(_ body: ChunkedBody) -> Bool {
        var body = body
        defer { if case .chunkedBody = part { part = .chunkedBody(body) } }
        switch body.place {
        case .bytes(let rest):
            let count = deliver(Int(min(rest, Int64(input.count - used))))
            body.didRead(count)
            return count > 0
        case .size, .bytesEnd:
            guard let line = nextLine(limit: ChunkedBody.longestLine, .malformedResponse) else { return false }
            used = line.upperBound
            let text = input[line].dropLast(input[line].suffix(2).first == 13 ? 2 : 1)
            if !body.read(Array(text).span) { _ = fail(.malformedResponse, "a chunk of the body is malformed") }
            return true
        case .trailers:
            let limit = transfer.options.maximumHeaderBytes
            guard let line = nextLine(limit: limit, .head(.tooLarge(limit: limit))) else { return false }
            used = line.upperBound
            if input[line].elementsEqual("\r\n".utf8) || line.count == 1 {
                part = .nothing
            } else {
                do throws(HeadFailure) { _ = try parse(line) } catch {
                    transfer.failure = EngineFailure(kind: .head(error), message: "")
                }
            }
            return true
        }
    }

    /// Delivers bytes of the body. Returns their number.
    private func deliver(_ count: Int) -> Int {
        guard count > 0 else { return 0 }
        let range = used..<used + count
        used += count
        _ = unsafe input.withUnsafeBytes { bytes in
            unsafe transfer.receiveBody(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
        return count
    }
}
