import CurlEngine
import FoundationEssentials

/// The faults of one request and its response, on a socket.
struct ExchangeFaults {
    let faults: [Fault]

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

/// The fields that frame a response, with the faults of its framing.
struct ResponseFraming {
    let isChunked: Bool
    let fields: String
    /// The faults that make the length a wrong one.
    private(set) var wrongLengths: [FramingFault] = []

    init(_ length: Int?, _ faults: ExchangeFaults, isSilent: Bool) {
        // A body with a length does not mark its end.
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
    private let player: FaultPlayer
    private var pauses: DripPauses

    init(_ faults: [Fault], _ player: FaultPlayer) {
        body = FaultedBody(faults)
        self.player = player
        pauses = DripPauses(player)
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
            case .play(let fault): try player.play(fault)
            case .wait(let fault, let pause): try pauses.wait(for: pause, of: fault)
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
