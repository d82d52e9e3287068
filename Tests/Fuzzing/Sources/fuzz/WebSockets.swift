import FoundationEssentials

@testable import TrellisCore
@testable import TrellisWebSockets

/// Checks that the events of a WebSocket do not depend on how the server's bytes are cut, and that no message exceeds the limit.
func fuzzWebSocket(_ input: FuzzInput) {
    let limit = input.choice & 1 == 0 ? 1 << 20 : 40
    var compression: WebSocketDeflate?
    if input.choice & 2 == 0 {
        compression = WebSocketDeflate()
        compression?.serverKeepsContext = input.choice & 4 == 0
    }
    let whole = WebSocketOutcome([input.body], limit, compression)
    for pieces in input.cuts {
        let outcome = WebSocketOutcome(pieces, limit, compression)
        expect(outcome.events == whole.events, "other events")
        expect(outcome.violation == whole.violation, "another violation")
    }
    for (index, event) in whole.events.enumerated() {
        switch event {
        case .message(let message): expect(message.byteCount <= limit, "a message above the limit")
        case .ping(let payload), .pong(let payload): expect(payload.count <= 125, "a control frame above its limit")
        case .close(let closing):
            expect(index == whole.events.count - 1, "an event after a Close frame")
            expect(closing.code.isSendable || closing.code == .noStatusReceived, "a code that no frame may have")
            expect(closing.reason.utf8.count <= WebSocketClosing.largestReason, "a reason above its limit")
        }
    }
    if let code = whole.violation?.code.rawValue { expect([1002, 1007, 1009].contains(code), "the code \(code)") }
}

/// The events of a server's bytes, and the violation that ended them if there was one.
private struct WebSocketOutcome {
    var events: [WebSocketEvent] = []
    var violation: WebSocketViolation?

    init(_ pieces: [[UInt8]], _ limit: Int, _ compression: WebSocketDeflate?) {
        var reader = WebSocketReader(maximumFrameSize: limit, maximumMessageSize: limit, compression: compression)
        var frames = Int.max
        do throws(WebSocketViolation) {
            for piece in pieces {
                reader.feed(Data(piece))
                while let event = try reader.next(&frames) { events.append(event) }
            }
        } catch {
            violation = error
        }
    }
}
