import Testing
import TrellisTesting

@testable import TrellisCore

/// The requests of a call that retry budgets record.
struct BudgetRecordTests {
    /// Returns the number of retries that a budget allows, of which it allows as many as it has recorded requests.
    private func recorded(_ budget: RetryBudget, _ url: String) -> Int {
        var count = 0
        while budget.withdraw(for: Request(url)) { count += 1 }
        return count
    }

    private func budget() -> RetryBudget { RetryBudget(ratio: 1, minimumRetries: 0, clock: TestClock().engineSide) }

    /// The request of the context's call, and requests to other hosts.
    private let own = "http://a.example/"
    private let other = "http://b.example/"

    @Test func aCallCountsOnceForAHost() {
        let (budget, call) = (budget(), CallContext.test().call)
        for _ in 0..<2 { budget.recordRequest(Request(own), of: call) }
        budget.recordRequest(Request(own + "path"), of: call)
        #expect(recorded(budget, own) == 1)
    }

    @Test func aCallCountsForEachHostToWhichItIsLed() {
        let (budget, call) = (budget(), CallContext.test().call)
        for url in [own, other, other, own] { budget.recordRequest(Request(url), of: call) }
        #expect(recorded(budget, own) == 2)
        #expect(recorded(budget, other) == 1)
    }

    @Test func eachBudgetCountsForItself() {
        let (one, two, call) = (budget(), budget(), CallContext.test().call)
        for budget in [one, two, one, two] { budget.recordRequest(Request(own), of: call) }
        #expect(recorded(one, own) == 1)
        #expect(recorded(two, own) == 1)
    }

    @Test func aCallThatAnAdapterLeadsElsewhereCountsThere() {
        let (budget, call) = (budget(), CallContext.test().call)
        for url in [other, own] { budget.recordRequest(Request(url), of: call) }
        #expect(recorded(budget, own) == 1)
        #expect(recorded(budget, other) == 1)
    }
}
