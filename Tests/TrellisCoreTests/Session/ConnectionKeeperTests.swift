import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// The pauses of a session that keeps connections open, and the losses of connections.
struct ConnectionKeeperTests {
    /// A session that waited for more connections than it may have would always be short of some.
    @Test func noMoreConnectionsAreKeptThanTheLimitsAllow() {
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = 2
        configuration.keptConnections = ["http://localhost:1": 1000]
        let session = Session(configuration: configuration, transport: MockTransport { _ in MockResponse() })
        #expect(session.keepers.map(\.count) == [2])
    }

    @Test func thePausesGrowWithTheFailuresUpToAMinute() {
        var pace = ConnectionKeeper.Pace()
        let pauses = (1...8).map { _ in pace.pause(after: nil) }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    }

    @Test func connectionsThatHaveLastedAreReplacedAtOnce() {
        var pace = ConnectionKeeper.Pace()
        #expect(pace.pause(after: .seconds(45)) == .zero)
        #expect(pace.pause(after: .milliseconds(5)) == .seconds(1))
        #expect(pace.pause(after: nil) == .seconds(2))
        #expect(pace.pause(after: ConnectionKeeper.Pace.usualTime) == .zero)
        #expect(pace.pause(after: .zero) == .seconds(1))
    }

    /// Otherwise the session would pause after it has opened them.
    @Test func lossesBeforeTheConnectionsWereOpenedDoNotCount() async {
        let losses = ConnectionKeeper.Losses()
        losses.tell(at: EngineInstant(nanoseconds: 1))
        losses.end()
        #expect(await losses.wait(since: EngineInstant(nanoseconds: 2)) == false)
    }

    @Test func aLossIsNotMissed() async {
        let losses = ConnectionKeeper.Losses()
        for instant in 1...2 { losses.tell(at: EngineInstant(nanoseconds: UInt64(instant))) }
        #expect(await losses.wait(since: EngineInstant(nanoseconds: 2)))
        losses.end()
        #expect(await losses.wait(since: EngineInstant(nanoseconds: 0)) == false)
    }

    /// Another engine has closed its idle connections.
    @Test func theConnectionsOfAllEnginesCount() {
        var watch = ConnectionAdmission.Watch(minimum: 2) {}
        #expect(!watch.record(1, on: 1) && !watch.record(3, on: 1))
        #expect(!watch.record(0, on: 0) && !watch.record(2, on: 1))
        #expect(watch.record(1, on: 1) && !watch.record(1, on: 0))
        #expect(watch.record(0, on: 1) && watch.record(0, on: 0) && !watch.record(0, on: 0))
    }

    /// The first connection is lost before the second one counts: the number does not fall.
    @Test func connectionsAreMissingThoughNoneWasCountedAsLost() {
        var watch = ConnectionAdmission.Watch(minimum: 2) {}
        #expect(watch.isShort)
        #expect(!watch.record(1, on: 0) && !watch.record(1, on: 0) && watch.isShort)
        #expect(!watch.record(2, on: 0) && !watch.isShort)
    }

    /// Requests share it, so that no second one would ever be opened.
    @Test func oneSharedConnectionIsEnough() {
        var watch = ConnectionAdmission.Watch(minimum: 3) {}
        #expect(!watch.record(1, on: 0) && watch.isShort)
        #expect(!watch.record(1, areShared: true, on: 0) && !watch.isShort)
        #expect(watch.record(0, areShared: true, on: 0) && watch.isShort)
    }
}
