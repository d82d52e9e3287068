import CurlEngine
import Testing

@testable import TrellisCore

/// The deadline that is reached first, computed without a clock. All numbers are seconds.
struct DeadlinesTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var timeouts: Timeouts
        var progress: ExchangeState.Progress
        /// The start of the attempt; the start of the call is at 100.
        var attemptStart: UInt64 = 100
        var activity: (last: UInt64, lastSend: UInt64)?
        var isHeld = false
        var isBodySent = true
        var expected: (timeout: TrellisError.Timeout, at: UInt64)?

        var testDescription: String { name }
    }

    static let all = Timeouts(connect: .seconds(5), responseHead: .seconds(7), idle: .seconds(9), total: .seconds(50))
    static let none = Timeouts(connect: nil, responseHead: nil, idle: nil, total: nil)

    static let rows: [Row] = [
        Row(name: "parked: total alone", timeouts: all, progress: .parked, expected: (.total, 150)),
        Row(name: "queued: total alone", timeouts: all, progress: .queued, expected: (.total, 150)),
        Row(
            name: "connecting: from the slot", timeouts: all, progress: .connecting, attemptStart: 120,
            expected: (.connect, 125)),
        Row(
            name: "connecting: total comes first", timeouts: all, progress: .connecting, attemptStart: 147,
            expected: (.total, 150)),
        Row(
            name: "connecting: idle does not count", timeouts: Timeouts(connect: nil, idle: .seconds(1), total: nil),
            progress: .connecting, expected: nil),
        Row(
            name: "sending: the head, from the last bytes sent", timeouts: all, progress: .sending,
            activity: (last: 111, lastSend: 110), expected: (.responseHead, 117)),
        Row(
            name: "sending: idle, from the last bytes either way",
            timeouts: Timeouts(responseHead: .seconds(20), idle: .seconds(9), total: nil), progress: .sending,
            activity: (last: 112, lastSend: 110), expected: (.idle, 121)),
        Row(
            name: "sending: from the slot where nothing is known", timeouts: all, progress: .sending, attemptStart: 103,
            expected: (.responseHead, 110)),
        Row(
            name: "sending the body: the head is not awaited yet", timeouts: all, progress: .sending,
            activity: (last: 111, lastSend: 110), isBodySent: false, expected: (.idle, 120)),
        Row(
            name: "receiving: idle", timeouts: all, progress: .receiving, activity: (last: 130, lastSend: 101),
            expected: (.idle, 139)),
        Row(
            name: "receiving: the head's limit is over",
            timeouts: Timeouts(responseHead: .seconds(1), idle: nil, total: .seconds(50)), progress: .receiving,
            activity: (last: 130, lastSend: 101), expected: (.total, 150)),
        Row(
            name: "receiving, held: total alone", timeouts: all, progress: .receiving,
            activity: (last: 130, lastSend: 101), isHeld: true, expected: (.total, 150)),
        Row(
            name: "sending, held: total alone", timeouts: all, progress: .sending,
            activity: (last: 110, lastSend: 110), isHeld: true, expected: (.total, 150)),
        Row(
            name: "connecting, held: connect goes on", timeouts: all, progress: .connecting, isHeld: true,
            expected: (.connect, 105)),
        Row(
            name: "a drip: total, however late the last byte", timeouts: all, progress: .receiving,
            activity: (last: 149, lastSend: 101), expected: (.total, 150)),
        Row(
            name: "no limits", timeouts: none, progress: .receiving, activity: (last: 130, lastSend: 101), expected: nil
        ),
        Row(name: "no time at all", timeouts: Timeouts(total: .zero), progress: .queued, expected: (.total, 100)),
        Row(
            name: "negative is none", timeouts: Timeouts(total: .seconds(-5)), progress: .queued,
            expected: (.total, 100)),
    ]

    @Test(arguments: rows)
    func theFirstLimitThatWillBeReached(_ row: Row) {
        var deadlines = Deadlines(limits: TimeLimits(row.timeouts), start: .init(seconds: 100))
        deadlines.attemptStart = .init(seconds: row.attemptStart)
        let last = EngineInstant(seconds: row.activity?.last ?? row.attemptStart)
        let lastSend = row.isBodySent ? EngineInstant(seconds: row.activity?.lastSend ?? row.attemptStart) : nil
        let expiry = deadlines.next(row.progress, lastMove: last, lastSend: lastSend, isHeld: row.isHeld)
        #expect(expiry?.timeout == row.expected?.timeout)
        #expect(expiry?.instant == row.expected.map { EngineInstant(seconds: $0.at) })
    }

    @Test func aLimitBeyondAllTimeIsReachedAtItsEndAndNotBefore() {
        let deadlines = Deadlines(
            limits: TimeLimits(Timeouts(total: .seconds(Int64.max))), start: .init(seconds: 100))
        let start = EngineInstant(seconds: 100)
        #expect(
            deadlines.next(.queued, lastMove: start, lastSend: start, isHeld: false)?.instant
                == EngineInstant(nanoseconds: .max))
    }
}

extension EngineInstant {
    fileprivate init(seconds: UInt64) { self.init(nanoseconds: seconds * 1_000_000_000) }
}
