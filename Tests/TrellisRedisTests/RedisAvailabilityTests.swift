#if Redis
import CurlEngine
import Testing

@testable import TrellisRedis

/// The decision whether a server is asked.
struct RedisAvailabilityTests {
    private static func at(_ milliseconds: UInt64) -> EngineInstant {
        EngineInstant(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
    }

    private var availability = RedisAvailability(pause: .seconds(1))

    @Test mutating func theFirstConnectionIsWaitedFor() {
        #expect(availability.answer(at: Self.at(0)) == .sendWhenConnected)
        availability.didConnect()
        #expect(availability.answer(at: Self.at(0)) == .send)
    }

    /// One request has waited in vain: the others do not.
    @Test mutating func aConnectionThatTakesTooLongIsNotWaitedForAgain() {
        availability.didWaitInVain()
        #expect(availability.answer(at: Self.at(5000)) == .refuse)
        availability.didConnect()
        #expect(availability.answer(at: Self.at(5000)) == .send)
    }

    @Test mutating func afterAnAnswerThatIsLateThereIsAPause() {
        availability.didConnect()
        availability.didMissAnswer(at: Self.at(100))
        #expect(availability.isOverdue)
        availability.didCatchUp()
        #expect(availability.answer(at: Self.at(1099)) == .refuse)
        #expect(availability.answer(at: Self.at(1100)) == .send)
    }

    /// A server that is stopped is not asked again, however long that takes.
    @Test mutating func aServerThatOwesAnswersIsNotAsked() {
        availability.didConnect()
        availability.didMissAnswer(at: Self.at(100))
        availability.didMissAnswer(at: Self.at(110))
        availability.didCatchUp()
        #expect(availability.answer(at: Self.at(60_000)) == .refuse)
        availability.didCatchUp()
        #expect(availability.answer(at: Self.at(60_000)) == .send)
    }

    @Test mutating func aConnectionThatIsLostIsMadeInTheBackground() {
        availability.didConnect()
        availability.didMissAnswer(at: Self.at(0))
        var pauses: [Duration] = []
        for _ in 0..<12 { pauses.append(availability.didLose(share: 1)) }
        #expect(pauses[0] == .milliseconds(100) && pauses[1] == .milliseconds(200))
        #expect(pauses.last == .seconds(10) && zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(availability.answer(at: Self.at(60_000)) == .refuse)
        availability.didConnect()
        #expect(availability.answer(at: Self.at(60_000)) == .send && !availability.isOverdue)
        #expect(availability.didLose(share: 0) == .milliseconds(50))
    }
}
#endif
