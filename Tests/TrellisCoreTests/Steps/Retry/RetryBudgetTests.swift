import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// The number of retries that a host gets.
struct RetryBudgetTests {
    static func account(ratio: Double = 0.1, minimum: Int = 10) -> RetryBudget.Account {
        RetryBudget.Account(ratio: ratio, minimumRetries: minimum, window: .seconds(10))
    }

    static func withdrawals(_ account: inout RetryBudget.Account, at now: EngineInstant) -> Int {
        (0..<10_000).prefix { _ in account.withdraw(at: now) }.count
    }

    @Test(
        arguments: [
            (0, 0.1, 10, 10), (100, 0.1, 10, 20), (1000, 0.1, 10, 110), (99, 0.1, 0, 9), (100, 0.1, 0, 10),
            (9, 0.1, 0, 0), (100, 0, 0, 0), (100, 1, 0, 100), (100, 0.1, -5, 5),
            (100, 0.1, .min, 0),
        ] as [(Int, Double, Int, Int)])
    func aPartOfTheRequestsAndSomeBeside(_ requests: Int, _ ratio: Double, _ minimum: Int, _ retries: Int) {
        var account = Self.account(ratio: ratio, minimum: minimum)
        for _ in 0..<requests { account.recordRequest(at: .at(.seconds(1))) }
        #expect(Self.withdrawals(&account, at: .at(.seconds(1))) == retries)
    }

    @Test func spentRetriesComeBackWithTheWindow() {
        var account = Self.account()
        #expect(Self.withdrawals(&account, at: .at(.seconds(100))) == 10)
        #expect(Self.withdrawals(&account, at: .at(.milliseconds(109_999))) == 0)
        #expect(Self.withdrawals(&account, at: .at(.seconds(110))) == 10)
    }

    @Test func requestsCountAsLongAsTheWindow() {
        var account = Self.account(minimum: 0)
        for _ in 0..<100 { account.recordRequest(at: .at(.seconds(100))) }
        var later = account
        #expect(Self.withdrawals(&account, at: .at(.seconds(109))) == 10)
        #expect(Self.withdrawals(&later, at: .at(.seconds(110))) == 0)
    }

    /// The budget bounds the retries in an outage of a host that gets 100 requests a second, each of which would be retried
    /// twice.
    @Test func anOutageIsNotMultiplied() {
        var account = Self.account()
        var retries = 0
        for millisecond in stride(from: 0, to: 60_000, by: 10) {
            let now = EngineInstant.at(.milliseconds(millisecond))
            account.recordRequest(at: now)
            for _ in 0..<2 where account.withdraw(at: now) { retries += 1 }
        }
        #expect(retries <= 6_000 / 10 + 60)
        #expect(retries > 500)
    }

    @Test func whatNobodyUsesIsForgettable() {
        var account = Self.account()
        #expect(account.isForgettable(at: .at(.zero)) == true)
        account.recordRequest(at: .at(.zero))
        #expect(account.isForgettable(at: .at(.seconds(9))) == false)
        #expect(account.isForgettable(at: .at(.seconds(10))) == true)
    }

    @Test func hostsHaveBudgetsOfTheirOwn() {
        let clock = TestClock()
        let budget = RetryBudget(ratio: 0.1, minimumRetries: 1, clock: clock.engineSide)
        #expect(budget.withdraw(for: Request("http://a.example/x")))
        #expect(!budget.withdraw(for: Request("http://A.example:80/y")))
        #expect(budget.withdraw(for: Request("http://a.example:8080/")))
        clock.move(by: .seconds(10))
        #expect(budget.withdraw(for: Request("http://a.example/x")))
    }
}
