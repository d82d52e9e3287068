import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// The closing handshake, pings, time limits and the other ends of a connection, as a table (RFC 6455, section 7).
struct WebSocketStateTests {
    typealias Event = WebSocketState.Event
    typealias Effect = WebSocketState.Effect

    private static let normal = WebSocketClosing(code: .normalClosure)
    private static let away = WebSocketClosing(code: .goingAway)
    private static let bye = WebSocketClosing(code: .goingAway, reason: "bye")
    private static let none = WebSocketClosing(code: .noStatusReceived)
    private static let violation = WebSocketViolation.protocol("masked")
    private static let told = WebSocketClosing(code: .protocolError, reason: "masked")
    private static let silent = WebSocketClosing(code: .internalError, reason: "no pong")
    private static let payload = Data([1, 2])

    /// Returns an instant in seconds after the beginning.
    private static func at(_ seconds: Double) -> EngineInstant {
        EngineInstant(nanoseconds: 1_000_000_000).advanced(by: .seconds(seconds))
    }

    /// Something that happens at an instant in seconds after the beginning.
    struct Step: Sendable {
        let event: Event
        let seconds: Double
    }

    private static func step(_ event: Event, _ seconds: Double = 0) -> Step { Step(event: event, seconds: seconds) }

    /// The alarm for an instant, which is due then or later.
    private static func alarm(_ seconds: Double, at now: Double? = nil, isHeldUp: Bool = false) -> Step {
        Step(event: .alarm(at(seconds), isHeldUp: isHeldUp), seconds: now ?? seconds)
    }

    private static func pong(_ number: UInt64) -> Event { .receivedPong(Data(WebSocketKeepAlive.payload(number))) }

    private static func answered(_ number: UInt64, after latency: Duration) -> Effect {
        .completePings([WebSocketKeepAlive.Answer(number: number, latency: latency)])
    }

    private static func ping(_ number: UInt64) -> Effect { .sendPing(number, isKeepAlive: true) }

    /// A row: the settings, the steps that lead to a state, the next step, its effects, and the phase after it.
    struct Row: Sendable, CustomTestStringConvertible {
        var options = WebSocketOptions(
            pingInterval: .seconds(20), pongTimeout: .seconds(7), closeTimeout: .seconds(10))
        var deadline: EngineInstant?
        let before: [Step]
        let step: Step
        let effects: [Effect]
        let phase: WebSocketState.Phase

        init(_ before: [Step], _ step: Step, gives effects: [Effect], in phase: WebSocketState.Phase) {
            (self.before, self.step, self.effects, self.phase) = (before, step, effects, phase)
        }

        func with(pongTimeout: Duration?) -> Row {
            var row = self
            row.options.pongTimeout = pongTimeout
            return row
        }

        func with(deadline: EngineInstant) -> Row {
            var row = self
            row.deadline = deadline
            return row
        }

        var testDescription: String { "\(before.map(\.event)) then \(step.event) at \(step.seconds)" }

        var state: WebSocketState { WebSocketState(options, deadline: deadline, at: at(0)) }
    }

    private static func row(
        _ before: [Step], _ step: Step, gives effects: [Effect], in phase: WebSocketState.Phase
    ) -> Row { Row(before, step, gives: effects, in: phase) }

    static let open: [Row] = [
        row([], step(.receivedPing(payload)), gives: [.answerPing(payload)], in: .open),
        row([], step(.receivedPong(payload)), gives: [], in: .open),
        row([], step(pong(1)), gives: [], in: .open),
        row([], step(.close(normal)), gives: [.setAlarm(at(10)), .sendClose(normal)], in: .closing),
        row(
            [], step(.receivedClose(bye), 3),
            gives: [.setAlarm(at(13)), .sendClose(away), .finish(.closedByPeer(bye))], in: .ending),
        row(
            [], step(.receivedClose(none)),
            gives: [.setAlarm(at(10)), .sendClose(none), .finish(.closedByPeer(none))], in: .ending),
        row(
            [], step(.violation(violation, hasUnread: false)),
            gives: [.setAlarm(at(10)), .sendClose(told), .finish(.failed(violation))], in: .ending),
        row([], step(.messagesAreRead), gives: [], in: .open),
        row([], step(.peerEnded), gives: [.finish(.lost), .cut], in: .ended),
        row([], step(.transportFailed), gives: [.finish(.transportFailed), .cut], in: .ended),
        row([], alarm(10), gives: [], in: .open),
    ]

    static let closing: [Row] = [
        row([step(.close(normal))], step(.close(bye)), gives: [], in: .closing),
        row([step(.close(normal))], step(.receivedPing(payload)), gives: [.answerPing(payload)], in: .closing),
        row(
            [step(.ping(1)), step(.close(normal))], step(pong(1), 2), gives: [answered(1, after: .seconds(2))],
            in: .closing),
        row([step(.close(normal))], step(.ping(1)), gives: [], in: .closing),
        // The alarm of the closing handshake is not moved.
        row(
            [step(.opened), alarm(20), step(.close(normal), 21)], step(pong(1), 22),
            gives: [answered(1, after: .seconds(2))], in: .closing),
        // Neither an alarm that was replaced nor the end of the whole conversation has an effect.
        row([step(.opened), step(.close(normal), 5)], alarm(20, at: 20), gives: [], in: .closing),
        row([step(.opened), step(.close(normal))], alarm(9), gives: [], in: .closing).with(deadline: at(9)),
        row([step(.close(normal))], step(.receivedClose(bye)), gives: [.finish(.closed(bye))], in: .ending),
        row(
            [step(.close(normal))], step(.violation(violation, hasUnread: true)),
            gives: [.finish(.failed(violation)), .cut], in: .ended),
        row([step(.close(normal))], step(.peerEnded), gives: [.finish(.closedWithoutReply), .cut], in: .ended),
        row([step(.close(normal))], step(.transportFailed), gives: [.finish(.closedWithoutReply), .cut], in: .ended),
        row([step(.close(normal))], alarm(10), gives: [.finish(.closedWithoutReply), .cut], in: .ended),
        row([step(.receivedClose(bye))], alarm(10), gives: [.cut], in: .ended),
    ]

    /// A violation waits for the readers of the messages before it, at most for a second.
    static let settling: [Row] = [
        row([], step(.violation(violation, hasUnread: true)), gives: [.setAlarm(at(1))], in: .open),
        // The alarm for a ping comes first.
        row([step(.opened)], step(.violation(violation, hasUnread: true), 19.5), gives: [], in: .open),
        row(
            [step(.violation(violation, hasUnread: true))], step(.messagesAreRead, 0.5),
            gives: [.setAlarm(at(10.5)), .sendClose(told), .finish(.failed(violation))], in: .ending),
        row(
            [step(.violation(violation, hasUnread: true))], alarm(1),
            gives: [.setAlarm(at(11)), .sendClose(told), .finish(.failed(violation))], in: .ending),
        row(
            [step(.violation(violation, hasUnread: true))], step(.close(normal)),
            gives: [.setAlarm(at(10)), .sendClose(normal), .finish(.failed(violation)), .cut], in: .ended),
    ]

    /// The pings that are sent by themselves: after 20 s of silence, with 7 s for the answer unless a row says otherwise.
    static let pings: [Row] = [
        row([], step(.opened), gives: [.setAlarm(at(20))], in: .open),
        row([step(.opened)], alarm(20), gives: [ping(1), .setAlarm(at(27))], in: .open),
        row(
            [step(.opened), alarm(20)], step(pong(1), 22),
            gives: [answered(1, after: .seconds(2)), .setAlarm(at(40))], in: .open),
        // A ping of the user's moves no alarm.
        row([step(.opened), step(.ping(9))], step(pong(9), 1), gives: [answered(9, after: .seconds(1))], in: .open),
        row([step(.opened), step(.ping(9)), step(.pingCancelled(9))], step(pong(9), 1), gives: [], in: .open),
        row(
            [step(.opened), alarm(20)], alarm(27),
            gives: [.sendClose(silent), .finish(.noPong(after: .seconds(7))), .cut], in: .ended),
        // The process was stopped, or nothing is read: the answer may have come.
        row([step(.opened), alarm(20)], alarm(27, at: 30), gives: [.setAlarm(at(37))], in: .open),
        row([step(.opened), alarm(20)], alarm(27, isHeldUp: true), gives: [.setAlarm(at(34))], in: .open),
        // Both alarms are the same.
        row([step(.opened), alarm(20)], step(pong(1), 22), gives: [answered(1, after: .seconds(2))], in: .open)
            .with(pongTimeout: .seconds(20)),
        // While a ping is unanswered, no other one is sent.
        row([step(.opened), alarm(20)], alarm(40), gives: [.setAlarm(at(50))], in: .open).with(
            pongTimeout: .seconds(30)),
        // Without a limit, a ping is sent after each interval, and the one before is given up.
        row([step(.opened), alarm(20), alarm(40)], step(pong(1), 41), gives: [], in: .open).with(pongTimeout: nil),
        row([step(.opened), alarm(20)], alarm(40), gives: [ping(2), .setAlarm(at(60))], in: .open).with(
            pongTimeout: nil),
    ]

    static let deadlines: [Row] = [
        row([], step(.opened), gives: [.setAlarm(at(15))], in: .open).with(deadline: at(15)),
        row([step(.opened)], alarm(20), gives: [ping(1), .setAlarm(at(25))], in: .open).with(deadline: at(25)),
        row(
            [step(.opened)], alarm(15), gives: [.setAlarm(at(25)), .sendClose(away), .finish(.timedOut)], in: .ending
        ).with(deadline: at(15)),
    ]

    @Test(arguments: open + closing + settling + pings + deadlines)
    func rows(_ row: Row) {
        var state = row.state
        for step in row.before { _ = state.handle(step.event, at: Self.at(step.seconds)) }
        #expect(state.handle(row.step.event, at: Self.at(row.step.seconds)) == row.effects)
        #expect(state.phase == row.phase && state.isOpen == (row.phase == .open))
    }

    /// A server whose bytes arrive, or that takes bytes, is there: the time for an answer counts from them.
    @Test(arguments: [true, false])
    func bytesExtendTheTimeForAnAnswer(_ areReceived: Bool) {
        var state = Row([], Self.step(.opened), gives: [], in: .open).state
        for step in [Self.step(.opened), Self.alarm(20)] { _ = state.handle(step.event, at: Self.at(step.seconds)) }
        if areReceived {
            state.keepAlive.noteReceived(at: Self.at(25))
        } else {
            state.keepAlive.noteRoom(at: Self.at(25))
        }
        #expect(state.handle(.alarm(Self.at(27), isHeldUp: false), at: Self.at(27)) == [.setAlarm(Self.at(32))])
        #expect(state.handle(.alarm(Self.at(32), isHeldUp: false), at: Self.at(32)).last == .cut)
    }

    /// The interval counts from the server's bytes, without the answers to pings.
    @Test func bytesDelayTheNextPing() {
        var state = Row([], Self.step(.opened), gives: [], in: .open).state
        _ = state.handle(.opened, at: Self.at(0))
        state.keepAlive.noteReceived(at: Self.at(15))
        #expect(state.handle(.alarm(Self.at(20), isHeldUp: false), at: Self.at(20)) == [.setAlarm(Self.at(35))])
        _ = state.handle(.alarm(Self.at(35), isHeldUp: false), at: Self.at(35))
        state.keepAlive.noteReceived(at: Self.at(37))
        #expect(state.handle(Self.pong(1), at: Self.at(37)).last == .setAlarm(Self.at(55)))
    }

    @Test func aPingThatWaitsForRoomIsTheOnlyOne() {
        var state = Row([], Self.step(.opened), gives: [], in: .open).with(pongTimeout: nil).state
        for step in [Self.step(.opened), Self.alarm(20)] { _ = state.handle(step.event, at: Self.at(step.seconds)) }
        state.keepAlive.isPingWaiting = true
        #expect(state.handle(.alarm(Self.at(40), isHeldUp: false), at: Self.at(40)) == [.setAlarm(Self.at(60))])
        state.keepAlive.isPingWaiting = false
        #expect(state.handle(.alarm(Self.at(60), isHeldUp: false), at: Self.at(60)).first == Self.ping(2))
    }

    @Test func anAnswerCompletesThePingsBeforeIt() {
        var state = Row([], Self.step(.opened), gives: [], in: .open).state
        for number in 1...3 as ClosedRange<UInt64> { _ = state.handle(.ping(number), at: Self.at(Double(number))) }
        let answers: [WebSocketKeepAlive.Answer] = [
            .init(number: 1, latency: .seconds(3)), .init(number: 2, latency: .seconds(2)),
        ]
        #expect(state.handle(Self.pong(2), at: Self.at(4)) == [.completePings(answers)])
        #expect(!state.keepAlive.isAnswered)
    }

    private static let everything: [Event] = [
        .close(normal), .ping(1), .receivedPing(payload), pong(1), .receivedClose(bye),
        .violation(violation, hasUnread: false), .violation(violation, hasUnread: true), .messagesAreRead, .peerEnded,
        .transportFailed, .alarm(at(10), isHeldUp: false),
    ]

    @Test(
        arguments: [
            [.receivedClose(bye)], [.violation(violation, hasUnread: false)], [.close(normal), .receivedClose(bye)],
        ] as [[Event]])
    func afterTheHandshakeOnlyTheEndOfTheConnectionHasAnEffect(_ before: [Event]) {
        for event in Self.everything {
            var state = Row([], Self.step(.opened), gives: [], in: .open).state
            for event in before { _ = state.handle(event, at: Self.at(0)) }
            let ends = [.peerEnded, .transportFailed, .alarm(Self.at(10), isHeldUp: false)].contains(event)
            #expect(state.handle(event, at: Self.at(10)) == (ends ? [.cut] : []))
            #expect(state.phase == (ends ? .ended : .ending))
        }
    }

    @Test(
        arguments: [([], true), ([.close(normal)], true), ([.receivedClose(bye)], false), ([.peerEnded], false)]
            as [([Event], Bool)])
    func messagesAreDeliveredUntilTheCloseFrameOfTheServer(_ before: [Event], _ takesFrames: Bool) {
        var state = Row([], Self.step(.opened), gives: [], in: .open).state
        for event in before { _ = state.handle(event, at: Self.at(0)) }
        #expect(state.takesFrames == takesFrames)
    }

    @Test func afterTheEndNothingHasAnEffect() {
        for event in Self.everything {
            var state = Row([], Self.step(.opened), gives: [], in: .open).state
            _ = state.handle(.peerEnded, at: Self.at(0))
            #expect(state.handle(event, at: Self.at(10)) == [] && state.phase == .ended)
        }
    }

    /// Any events lead to one ending, one Close frame at most, and no cut before the ending. The alarm that was set last comes among them.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func anyEventsEndOnce(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var state = Row([], Self.step(.opened), gives: [], in: .open).state
        var effects = state.handle(.opened, at: Self.at(0))
        for number in 1...20 {
            let now = Self.at(3 * Double(number))
            if let alarm = state.alarm, alarm <= now {
                effects += state.handle(.alarm(alarm, isHeldUp: false), at: now)
            }
            effects += state.handle(Self.everything[Int.random(in: 0..<Self.everything.count, using: &random)], at: now)
        }
        effects += state.handle(.peerEnded, at: Self.at(100))
        #expect(effects.count { if case .finish = $0 { true } else { false } } == 1)
        #expect(effects.count { if case .sendClose = $0 { true } else { false } } <= 1)
        #expect(effects.count { $0 == .cut } == 1 && effects.last == .cut)
        #expect(state.alarm == nil)
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
