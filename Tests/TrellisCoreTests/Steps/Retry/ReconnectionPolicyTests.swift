import Testing
import TrellisCore

/// The rules of a reconnection, given at once or one by one.
struct ReconnectionPolicyTests {
    @Test func allRulesCanBeGivenAtOnce() {
        var rules = ReconnectionPolicy()
        #expect(rules.initialDelay == .seconds(3) && rules.minimumDelay == .milliseconds(100))
        #expect(rules.maximumBackoff == .seconds(60) && rules.maximumFailures == nil && !rules.repeatsAnyMethod)
        rules.initialDelay = .seconds(1)
        rules.minimumDelay = .seconds(2)
        rules.maximumBackoff = .seconds(3)
        rules.maximumFailures = 4
        rules.repeatsAnyMethod = true
        let given = ReconnectionPolicy(
            initialDelay: .seconds(1), minimumDelay: .seconds(2), maximumBackoff: .seconds(3), maximumFailures: 4,
            repeatsAnyMethod: true)
        #expect(given == rules)
    }
}
