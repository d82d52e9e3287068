import CurlEngine
import FoundationEssentials

/// The faults of one request and its response, on a socket.
struct ExchangeFaults {
    let faults: [Fault]
    let schedule: FaultSchedule

    var isEmpty: Bool { faults.isEmpty }

    /// Returns the faults of a moment, in the order of the plan.
    func at(_ moment: Fault.Moment) -> [Fault] { faults.filter { $0.moment == moment } }

    /// The faults in the request's body, by the number of bytes after which they happen.
    var inRequest: [(after: Int, fault: Fault)] {
        faults.compactMap { fault in fault.moment?.requestBytes.map { (after: $0, fault: fault) } }
            .sorted { $0.after < $1.after }
    }

    /// The faults of the framing.
    var framing: [FramingFault] {
        faults.compactMap { if case .framing(let fault) = $0 { fault } else { nil } }
    }
}

extension LoopbackServer.Connection {
    /// Reads the head of the next request, and returns it with its faults; `nil` if the peer ended the connection instead. The faults that
    /// precede the reading happen before the request is recorded.
    func nextHead(_ schedule: FaultSchedule) throws -> (LoopbackServer.ReceivedRequest, ExchangeFaults)? {
        guard !schedule.isEmpty else {
            return try readHead().map { ($0, ExchangeFaults(faults: [], schedule: schedule)) }
        }
        var faults = ExchangeFaults(faults: [], schedule: schedule)
        let head = try readHead { request in
            faults = ExchangeFaults(
                faults: schedule.next(.exchange, FaultedRequest(request)), schedule: schedule)
            for fault in faults.at(.requestHead) { try play(fault, schedule) }
        }
        return head.map { ($0, faults) }
    }

    /// Reads the body of a request, with its faults.
    func readBody(
        of head: LoopbackServer.ReceivedRequest, storing: Bool, _ faults: ExchangeFaults
    ) throws -> LoopbackServer.ReceivedRequest {
        var rest = faults.inRequest[...]
        return try readBody(of: head, storing: storing) { count in
            while let next = rest.first, next.after < count {
                rest = rest.dropFirst()
                try play(next.fault, faults.schedule)
            }
        }
    }

    /// Performs a fault, and returns if the connection continues after it.
    func play(_ fault: Fault, _ schedule: FaultSchedule) throws {
        if case .latency(let duration, _) = fault { return try pause(for: duration, of: fault, schedule) }
        schedule.begin(fault)
        switch fault {
        case .silence:
            waitUntilPeerCloses()
            throw LoopbackServer.Interruption.closedByPeer
        case .reset:
            // The client has all bytes before the reset, which might overtake them otherwise.
            waitUntilReceived()
            reset()
        case .close: shutdownWrite()
        case .closeWithoutNotify: shutdownWrite(notifying: false)
        case .framing(.chunkSize): try write("zz\r\n")
        case .framing(.statusLine): try write("This is not a status line.\r\n\r\n")
        case .unresolvedName, .refusedConnection, .tls, .latency, .drip, .framing, .http2: return
        }
        throw LoopbackServer.Interruption.closedByScript
    }

    /// Sends a response with its faults; returns whether the connection may carry another request.
    func send(
        _ answer: LoopbackServer.Response, to request: LoopbackServer.ReceivedRequest, _ faults: ExchangeFaults
    ) throws -> Bool {
        for fault in faults.at(.responseHead) { try play(fault, faults.schedule) }
        let length: Int?
        let produce: (LoopbackServer.BodyWriter) throws -> Void
        switch answer.body {
        case .raw(let act):
            try act(self)
            return false
        case .bytes(let data):
            length = data.count
            produce = { try $0.write(Array(data)) }
        case .sized(let count, let write):
            length = count
            produce = write
        case .chunked(let write):
            length = nil
            produce = write
        }
        let isSilent = WireHead.hasNoBody(status: answer.status)
        let framing = ResponseFraming(length, faults, isSilent: isSilent)
        for fault in framing.wrongLengths { faults.schedule.begin(.framing(fault)) }
        let fields = answer.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        try write("HTTP/1.1 \(answer.status) \(reasonPhrase(answer.status))\r\n\(fields)\(framing.fields)\r\n")
        guard !WireHead.hasNoBody(method: request.method, status: answer.status) else { return request.keepsConnection }
        let body = BodyFaults(faults)
        try produce(.init(connection: self, isChunked: framing.isChunked, faults: body))
        if let fault = body.atEnd { try play(fault, faults.schedule) }
        for fault in faults.at(.end) { try play(fault, faults.schedule) }
        // A body of a wrong length has no other end than the connection's.
        guard faults.framing.isEmpty else { return false }
        if framing.isChunked { try write("0\r\n\r\n") }
        return request.keepsConnection
    }
}

/// The fields that frame a response, with the faults of its framing.
private struct ResponseFraming {
    let isChunked: Bool
    let fields: String
    /// The faults that make the length a wrong one.
    private(set) var wrongLengths: [FramingFault] = []

    init(_ length: Int?, _ faults: ExchangeFaults, isSilent: Bool) {
        // A body with a length has no end of its own.
        let needsChunks =
            !faults.at(.end).isEmpty
            || faults.framing.contains { if case .chunkSize = $0 { true } else { false } }
        isChunked = length == nil || needsChunks
        var announced = length ?? 0
        var malformed = ""
        for fault in faults.framing {
            switch fault {
            case .lengthTooLarge(let count):
                announced += max(0, count)
                wrongLengths.append(fault)
            case .lengthTooSmall(let count):
                announced = max(0, announced - max(0, count))
                wrongLengths.append(fault)
            case .fieldLine: malformed += "this line is no field\r\n"
            case .contentLengths: malformed += "Content-Length: \(announced)\r\nContent-Length: \(announced + 1)\r\n"
            case .statusLine, .chunkSize: break
            }
        }
        let usual = isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(announced)\r\n"
        fields = (isSilent ? "" : usual) + malformed
    }
}

/// The faults in the body of a response that is being written.
final class BodyFaults {
    private var body: FaultedBody
    private let schedule: FaultSchedule
    private var pauses: DripPauses

    init(_ faults: ExchangeFaults) {
        body = FaultedBody(faults.faults)
        schedule = faults.schedule
        pauses = DripPauses(faults.schedule)
    }

    /// The fault at the end of a body that was too short for it.
    var atEnd: Fault? { body.stepAtEnd() }

    func write(_ bytes: [UInt8], with writer: LoopbackServer.BodyWriter) throws {
        guard !body.isPlain else { return try writer.writePiece(bytes) }
        var rest = bytes[...]
        while !rest.isEmpty {
            switch body.step(available: rest.count) {
            case .send(let count):
                try writer.writePiece(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            case .play(let fault): try writer.connection.play(fault, schedule)
            case .wait(let fault, let pause): try pauses.wait(for: pause, of: fault, on: writer.connection)
            }
        }
    }
}

extension FaultPlan {
    /// Checks whether a server can play all faults.
    func check(on address: LoopbackServer.Address, hasTLS: Bool) throws {
        for rule in rules {
            for fault in rule.faults {
                func refuse(_ reason: String) -> UnplayableFault { UnplayableFault(fault: fault, reason: reason) }
                if fault.needsTLS, !hasTLS { throw refuse("the server does not use TLS") }
                if fault.stage == .lookup, address != .ipv4, address != .ipv6 {
                    throw refuse("a Unix-domain socket has no name to look up")
                }
                if fault.stage != .exchange, !rule.predicates.isEmpty {
                    throw refuse("a server on a socket knows no request while a connection is being made")
                }
            }
        }
    }

    /// Checks whether a server of HTTP/1.1, or of HTTP/2, can play all faults.
    func check(hasHTTP2: Bool) throws {
        for rule in rules {
            for fault in rule.faults {
                if hasHTTP2 ? fault.needsHTTP1 : fault.needsHTTP2 {
                    throw UnplayableFault(
                        fault: fault, reason: "the server speaks HTTP/\(hasHTTP2 ? "2" : "1.1")")
                }
                if hasHTTP2, fault.stage == .exchange, !rule.predicates.isEmpty {
                    throw UnplayableFault(fault: fault, reason: "the server does not read the fields of its requests")
                }
            }
        }
    }

    /// Whether a fault needs a port that takes no connections.
    var needsSilentPort: Bool { faults.contains { $0 == .silence(.connecting) } }
}
