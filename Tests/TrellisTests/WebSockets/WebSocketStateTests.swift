import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// The closing handshake and the other ends of a connection, as a table (RFC 6455, section 7).
struct WebSocketStateTests {
    private static let normal = WebSocketClosing(code: .normalClosure)
    private static let bye = WebSocketClosing(code: .goingAway, reason: "bye")
    private static let none = WebSocketClosing(code: .noStatusReceived)
    private static let violation = WebSocketViolation.protocol("masked")
    private static let told = WebSocketClosing(code: .protocolError, reason: "masked")
    private static let noPong = WebSocketClosing(code: .internalError, reason: "no pong")

    /// A row: the events that lead to a state, the next event, its effects, and the phase after it.
    struct Row: Sendable, CustomTestStringConvertible {
        let before: [WebSocketState.Event]
        let event: WebSocketState.Event
        let effects: [WebSocketState.Effect]
        let phase: WebSocketState.Phase

        init(
            _ before: [WebSocketState.Event], _ event: WebSocketState.Event, _ effects: [WebSocketState.Effect],
            _ phase: WebSocketState.Phase
        ) {
            (self.before, self.event, self.effects, self.phase) = (before, event, effects, phase)
        }

        var testDescription: String { "\(before) then \(event)" }
    }

    private static let everything: [WebSocketState.Event] = [
        .close(normal), .receivedPing, .receivedPong, .receivedClose(bye), .violation(violation),
        .pongIsMissing, .peerEnded, .transportFailed, .closeTimedOut,
    ]

    static let open: [Row] = [
        Row([], .receivedPing, [.answerPing], .open),
        Row([], .receivedPong, [.completePings], .open),
        Row([], .close(normal), [.startCloseTimer, .sendClose(normal)], .closing),
        Row(
            [], .receivedClose(bye),
            [.startCloseTimer, .sendClose(WebSocketClosing(code: .goingAway)), .finish(.closedByPeer(bye))], .ending),
        Row([], .receivedClose(none), [.startCloseTimer, .sendClose(none), .finish(.closedByPeer(none))], .ending),
        Row([], .violation(violation), [.startCloseTimer, .sendClose(told), .finish(.failed(violation))], .ending),
        Row([], .pongIsMissing, [.sendClose(noPong), .finish(.noPong), .cut], .ended),
        Row([], .peerEnded, [.finish(.lost), .cut], .ended),
        Row([], .transportFailed, [.finish(.transportFailed), .cut], .ended),
        Row([], .closeTimedOut, [], .open),
    ]

    static let closing: [Row] = [
        Row([.close(normal)], .close(bye), [], .closing),
        Row([.close(normal)], .receivedPing, [.answerPing], .closing),
        Row([.close(normal)], .receivedPong, [.completePings], .closing),
        Row([.close(normal)], .pongIsMissing, [], .closing),
        Row([.close(normal)], .receivedClose(bye), [.finish(.closed(bye))], .ending),
        Row([.close(normal)], .violation(violation), [.finish(.failed(violation)), .cut], .ended),
        Row([.close(normal)], .peerEnded, [.finish(.closedWithoutReply), .cut], .ended),
        Row([.close(normal)], .transportFailed, [.finish(.closedWithoutReply), .cut], .ended),
        Row([.close(normal)], .closeTimedOut, [.finish(.closedWithoutReply), .cut], .ended),
    ]

    @Test(arguments: open + closing)
    func rows(_ row: Row) {
        var state = WebSocketState()
        for event in row.before { _ = state.handle(event) }
        #expect(state.handle(row.event) == row.effects)
        #expect(state.phase == row.phase && state.isOpen == (row.phase == .open))
    }

    @Test(
        arguments: [[.receivedClose(bye)], [.violation(violation)], [.close(normal), .receivedClose(bye)]]
            as [[WebSocketState.Event]])
    func afterTheHandshakeOnlyTheEndOfTheConnectionHasAnEffect(_ before: [WebSocketState.Event]) {
        for event in Self.everything {
            var state = WebSocketState()
            for event in before { _ = state.handle(event) }
            let ends = [.peerEnded, .transportFailed, .closeTimedOut].contains(event)
            #expect(state.handle(event) == (ends ? [.cut] : []))
            #expect(state.phase == (ends ? .ended : .ending))
        }
    }

    @Test(
        arguments: [([], true), ([.close(normal)], true), ([.receivedClose(bye)], false), ([.peerEnded], false)]
            as [([WebSocketState.Event], Bool)])
    func messagesAreDeliveredUntilTheCloseFrameOfTheServer(_ before: [WebSocketState.Event], _ takesFrames: Bool) {
        var state = WebSocketState()
        for event in before { _ = state.handle(event) }
        #expect(state.takesFrames == takesFrames)
    }

    @Test func afterTheEndNothingHasAnEffect() {
        for event in Self.everything {
            var state = WebSocketState()
            _ = state.handle(.peerEnded)
            #expect(state.handle(event) == [] && state.phase == .ended)
        }
    }

    /// Any events lead to one ending, one Close frame at most, and no cut before the ending.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func anyEventsEndOnce(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var state = WebSocketState()
        var effects: [WebSocketState.Effect] = []
        for _ in 0..<20 {
            effects += state.handle(Self.everything[Int.random(in: 0..<Self.everything.count, using: &random)])
        }
        effects += state.handle(.peerEnded)
        #expect(effects.count { if case .finish = $0 { true } else { false } } == 1)
        #expect(effects.count { if case .sendClose = $0 { true } else { false } } <= 1)
        #expect(effects.count { $0 == .cut } == 1 && effects.last == .cut)
    }

    @Test(
        "The reason is cut after a whole character",
        arguments: [
            (String(repeating: "r", count: 123), 123), (String(repeating: "r", count: 200), 123),
            (String(repeating: "é", count: 70), 122), (String(repeating: "r", count: 122) + "é", 122),
            (String(repeating: "r", count: 121) + "é", 123), (String(repeating: "😀", count: 31), 120), ("", 0),
        ])
    func reasons(_ reason: String, _ count: Int) {
        let payload = WebSocketClosing(code: .normalClosure, reason: reason).payload
        #expect(payload.count == count + 2 && Array(payload[..<2]) == [3, 232])
        #expect(String(validating: payload[2...], as: UTF8.self).map { reason.hasPrefix($0) } == true)
    }

    @Test func aCodeThatNoFrameMayHaveIsNotSent() {
        #expect(WebSocketClosing(code: .noStatusReceived, reason: "r").payload == [])
        #expect(WebSocketClosing(code: .abnormalClosure).payload == [])
    }
}
