import Testing

@testable import TrellisCore

/// The limits on connections, given at once or one by one.
struct ConnectionLimitsTests {
    @Test func allLimitsCanBeGivenAtOnce() {
        var limits = ConnectionLimits()
        #expect(limits.total == 256 && limits.perOrigin == 64 && limits.requestsPerOrigin == nil)
        #expect(limits.idleLifetime == .seconds(45) && limits.maximumLifetime == .seconds(3600))
        limits.total = 1
        limits.perOrigin = 2
        limits.requestsPerOrigin = 5
        limits.idleLifetime = .seconds(3)
        limits.maximumLifetime = .seconds(4)
        let given = ConnectionLimits(
            total: 1, perOrigin: 2, requestsPerOrigin: 5, idleLifetime: .seconds(3), maximumLifetime: .seconds(4))
        #expect(given == limits)
    }

    @Test(arguments: [(Int.min, Int.min), (0, 0), (1, 1), (3, 2), (.max, 2)])
    func wantedConnectionsAreLimited(_ wanted: Int, _ allowed: Int) {
        #expect(ConnectionLimits(total: 4, perOrigin: 2).allowed(wanted) == allowed)
        #expect(ConnectionLimits(total: 2, perOrigin: 4).allowed(wanted) == allowed)
    }

    @Test func withoutUsableLimitsOneConnectionIsAllowed() {
        #expect(ConnectionLimits(total: 0, perOrigin: -1).allowed(3) == 1)
    }
}
