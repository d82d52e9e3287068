import CurlEngine
import Testing

@testable import TrellisCore

/// The settings of a session as its engines use them.
@Suite struct EngineConfigurationTests {
    /// The engine counts whole seconds, and takes zero for no limit.
    @Test(arguments: [(0.001, 1), (0.5, 1), (1, 1), (90.7, 90)] as [(Double, Int)])
    func aShortLifetimeOfConnectionsIsALimit(_ seconds: Double, _ expected: Int) {
        var configuration = SessionConfiguration()
        configuration.limits.maximumLifetime = .seconds(seconds)
        let engine = EngineConfiguration(configuration, RequestPreparation(configuration))
        #expect(engine.maximumLifetimeSeconds == expected)
    }

    /// Times without a meaning are the shortest ones, and those that are too long never come.
    @Test func theSettingsOfHTTP2AreUsable() {
        var configuration = SessionConfiguration()
        func engine() -> EngineConfiguration {
            EngineConfiguration(configuration, RequestPreparation(configuration))
        }
        #expect(engine().pingInterval == .seconds(15) && engine().pongTimeout == .seconds(10))
        #expect(engine().idlePingInterval == nil && engine().largestWindow == 16 << 20)
        configuration.http2 = HTTP2Configuration(
            pingInterval: .zero, pongTimeout: .seconds(-1), idlePingInterval: .seconds(Int64.max),
            maximumStreamWindow: .min)
        #expect(engine().pingInterval == .seconds(1) && engine().pongTimeout == .seconds(1))
        #expect(engine().idlePingInterval == .seconds(1_000_000_000) && engine().largestWindow == 256 << 10)
        configuration.http2 = HTTP2Configuration(pingInterval: nil, maximumStreamWindow: .max)
        #expect(engine().pingInterval == nil && engine().largestWindow == Int(Int32.max))
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
