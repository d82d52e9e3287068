import Testing
import TrellisCore

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
}
