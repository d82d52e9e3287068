import Testing

@testable import TrellisCore

/// The pauses of a session that keeps connections open.
struct ConnectionKeeperTests {
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
}
