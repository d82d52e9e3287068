import Testing

@testable import CurlEngine

/// PING finds out whether a server is there, seldom enough for every server, and measures the round trip.
struct HTTP2KeepaliveTests {
    private static func at(_ seconds: Double) -> EngineInstant {
        EngineInstant(nanoseconds: 1_000_000_000 + UInt64(seconds * 1_000_000_000))
    }

    private static func seconds(_ instant: EngineInstant?) -> Double? {
        instant.map { Double($0.nanoseconds) / 1_000_000_000 - 1 }
    }

    private func busy(_ settings: HTTP2Keepalive.Settings = .init()) -> HTTP2Keepalive {
        var state = HTTP2Keepalive(settings, at: Self.at(0))
        state.didBecomeBusy(at: Self.at(0))
        return state
    }

    // MARK: While requests wait

    @Test func aServerThatAnswersNothingIsDead() {
        var state = busy()
        #expect(state.check(streams: 1, at: Self.at(14)) == .wait)
        #expect(Self.seconds(state.deadline(streams: 1)) == 15)
        #expect(state.check(streams: 1, at: Self.at(15)) == .ping(1))
        #expect(state.check(streams: 1, at: Self.at(24)) == .wait)
        #expect(Self.seconds(state.deadline(streams: 1)) == 25)
        #expect(state.check(streams: 1, at: Self.at(25)) == .dead(.seconds(25)))
    }

    /// Whatever comes shows that the server is there, even if the answer does not.
    @Test func everyByteIsASignOfLife() {
        var state = busy()
        #expect(state.check(streams: 1, at: Self.at(15)) == .ping(1))
        for second in 16...100 {
            state.didReceive(at: Self.at(Double(second)))
            #expect(state.check(streams: 1, at: Self.at(Double(second) + 0.9)) == .wait)
        }
        #expect(Self.seconds(state.deadline(streams: 1)) == 110)
        #expect(state.check(streams: 1, at: Self.at(110)) == .dead(.seconds(10)))
    }

    /// A PING may wait behind content on a slow link, whose server is dead only once it takes nothing any more.
    @Test func contentThatIsTakenIsASignOfLife() {
        var state = busy()
        state.didDeliverContent(at: Self.at(14))
        #expect(state.check(streams: 1, at: Self.at(15)) == .ping(1))
        for second in 1...5 {
            state.didDeliverContent(at: Self.at(15 + Double(second) * 9))
            #expect(state.check(streams: 1, at: Self.at(23.9 + Double(second) * 9)) == .wait)
        }
        #expect(Self.seconds(state.deadline(streams: 1)) == 70)
        #expect(state.check(streams: 1, at: Self.at(70)) == .dead(.seconds(70)))
    }

    /// A server of gRPC allows two PING frames in silence, and then one in five minutes. Returns the times of the frames while a server
    /// answers them and sends nothing else.
    @Test func aLongSilenceHasFewPings() {
        var state = busy(), pings: [Double] = [], instant = Self.at(0)
        while let deadline = state.deadline(streams: 1), deadline < Self.at(1_500) {
            instant = deadline
            guard case .ping(let number) = state.check(streams: 1, at: instant) else { continue }
            pings.append(Self.seconds(instant) ?? 0)
            state.didReceive(at: instant)
            #expect(state.didReceiveAnswer(number, at: instant) == true)
        }
        #expect(pings == [15, 45, 345, 645, 945, 1_245])
    }

    @Test func contentEndsASilence() {
        var state = busy()
        for _ in 0..<2 {
            let now = state.deadline(streams: 1) ?? Self.at(0)
            guard case .ping(let number) = state.check(streams: 1, at: now) else { break }
            state.didReceive(at: now)
            #expect(state.didReceiveAnswer(number, at: now) == true)
        }
        #expect(Self.seconds(state.deadline(streams: 1)) == 345)
        state.didReceive(at: Self.at(50))
        state.didReceiveContent()
        #expect(Self.seconds(state.deadline(streams: 1)) == 65)
    }

    @Test func aRequestBeginsASilence() {
        var state = HTTP2Keepalive(at: Self.at(0))
        state.didBecomeBusy(at: Self.at(40))
        #expect(Self.seconds(state.deadline(streams: 1)) == 55)
    }

    // MARK: Idle connections

    @Test func anIdleConnectionWaitsForNothing() {
        let state = HTTP2Keepalive(at: Self.at(0))
        #expect(state.deadline(streams: 0) == nil)
    }

    @Test func nothingIsSentWithoutAnInterval() {
        var settings = HTTP2Keepalive.Settings()
        settings.interval = nil
        var state = busy(settings)
        #expect(state.deadline(streams: 1) == nil && state.check(streams: 1, at: Self.at(1_000_000)) == .wait)
    }

    @Test func anIdleConnectionIsCheckedByChoice() {
        var state = HTTP2Keepalive(.init(idleInterval: .seconds(60)), at: Self.at(0))
        for minute in 1...5 {
            #expect(Self.seconds(state.deadline(streams: 0)) == Double(60 * minute))
            #expect(state.check(streams: 0, at: Self.at(Double(60 * minute))) == .ping(UInt64(minute)))
            state.didReceive(at: Self.at(Double(60 * minute)))
            #expect(state.didReceiveAnswer(UInt64(minute), at: Self.at(Double(60 * minute))) == true)
        }
        #expect(state.check(streams: 0, at: Self.at(360)) == .ping(6))
        #expect(state.check(streams: 0, at: Self.at(370)) == .dead(.seconds(70)))
    }

    @Test(arguments: [true, false]) func anIdleConnectionIsCheckedBeforeItsNextRequest(_ isThere: Bool) {
        var state = HTTP2Keepalive(at: Self.at(0))
        #expect(!state.isStale(at: Self.at(14)) && state.isStale(at: Self.at(15)))
        #expect(state.checkIdle(at: Self.at(20)) == .ping(1))
        #expect(state.isInDoubt)
        if isThere {
            state.didReceive(at: Self.at(21))
            #expect(!state.isInDoubt && !state.isStale(at: Self.at(21)))
            #expect(state.didReceiveAnswer(1, at: Self.at(21)) == true)
            #expect(state.deadline(streams: 0) == nil)
        } else {
            #expect(Self.seconds(state.deadline(streams: 0)) == 22)
            #expect(state.check(streams: 0, at: Self.at(22)) == .dead(.seconds(22)))
        }
    }

    /// The check of an idle connection has less time than the PING that is already on its way, if any.
    @Test func aCheckWhileAPingIsOnItsWay() {
        var state = HTTP2Keepalive(.init(idleInterval: .seconds(60)), at: Self.at(0))
        #expect(state.check(streams: 0, at: Self.at(60)) == .ping(1))
        #expect(state.checkIdle(at: Self.at(61)) == .wait)
        #expect(state.isInDoubt)
        #expect(Self.seconds(state.deadline(streams: 0)) == 63)
        #expect(state.check(streams: 0, at: Self.at(63)) == .dead(.seconds(63)))
    }

    // MARK: Round trips

    @Test func aShorterRoundTripCountsAtOnceAndALongerOneByAndBy() {
        var state = HTTP2Keepalive(at: Self.at(0))
        #expect(state.roundTrip == nil)
        state.measure(from: Self.at(0), to: Self.at(0.1))
        #expect(state.roundTrip == 100_000_000)
        state.measure(from: Self.at(1), to: Self.at(1.02))
        #expect(state.roundTrip == 20_000_000)
        state.measure(from: Self.at(2), to: Self.at(2.1))
        #expect(state.roundTrip == 30_000_000)
    }

    @Test func aMeasurementHoldsForTenSeconds() {
        var state = HTTP2Keepalive(at: Self.at(0))
        #expect(state.measureRoundTrip(at: Self.at(0)) == .ping(1))
        #expect(state.measureRoundTrip(at: Self.at(1)) == .wait)
        #expect(state.didReceiveAnswer(1, at: Self.at(2)) == true)
        #expect(state.measureRoundTrip(at: Self.at(11)) == .wait)
        #expect(state.measureRoundTrip(at: Self.at(12)) == .ping(2))
    }

    @Test func anAnswerThatNobodyExpectsIsNone() {
        var state = HTTP2Keepalive(at: Self.at(0))
        #expect(state.didReceiveAnswer(1, at: Self.at(0)) == false)
        #expect(state.measureRoundTrip(at: Self.at(0)) == .ping(1))
        #expect(state.didReceiveAnswer(2, at: Self.at(0)) == false)
        #expect(state.didReceiveAnswer(1, at: Self.at(0)) == true)
        #expect(state.didReceiveAnswer(1, at: Self.at(0)) == false)
    }
}
