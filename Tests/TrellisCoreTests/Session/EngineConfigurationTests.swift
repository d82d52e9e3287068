import CurlEngine
import Testing

@testable import TrellisCore

/// The settings of a session as its engines use them.
@Suite struct EngineConfigurationTests {
    /// libcurl knows whole seconds, and takes zero for no limit.
    @Test(arguments: [(0.001, 1), (0.5, 1), (1, 1), (90.7, 90)] as [(Double, Int)])
    func aShortLifetimeOfConnectionsIsALimit(_ seconds: Double, _ expected: Int) {
        var configuration = SessionConfiguration()
        configuration.limits.maximumLifetime = .seconds(seconds)
        let engine = EngineConfiguration(configuration, RequestPreparation(configuration))
        #expect(engine.maximumLifetimeSeconds == expected)
    }

    /// A peer that takes no bytes is idle before the system ends its connection.
    @Test(
        arguments: [(nil, 0), (.seconds(60), 120_000), (.seconds(300), 600_000), (.seconds(Int64.max), .max)]
            as [(Duration?, UInt32)])
    func theLimitOnSendingIsLongerThanTheOneOnIdleTime(_ idle: Duration?, _ expected: UInt32) {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(idle: idle)
        let engine = EngineConfiguration(configuration, RequestPreparation(configuration))
        #expect(engine.sendingLimitMilliseconds == expected)
    }
}
