import CurlEngine
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The ends of exchanges for which equal requests wait.
@Suite(.timeLimit(.minutes(3)))
struct CacheTicketTests {
    private let key = CacheKey(url: CacheWorld.url)

    /// Returns once another task has come, or after a while without one.
    private static func meet(_ arrived: Locked<Int>) {
        arrived.withLock { $0 += 1 }
        for _ in 1...10_000 where arrived.withLock({ $0 }) >= 2 { return }
    }

    /// The wait of equal requests and the exchange may end on two threads at the same time.
    @Test func noRequestWaitsForAnExchangeThatHasEnded() async {
        let exchanges = CacheExchanges()
        var lostCount = 0
        for _ in 1...Scale.count(500, all: 5000) {
            guard case .leader(let leader) = exchanges.join(key, variant: nil),
                case .waiter(let flight) = exchanges.join(key, variant: nil)
            else {
                Issue.record("an exchange has not ended")
                return
            }
            let arrived = Locked(0)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    Self.meet(arrived)
                    leader.settle(.notStored)
                }
                group.addTask {
                    Self.meet(arrived)
                    _ = leader.end(storing: nil)?.settle(.left)
                }
            }
            if flight.outcome == nil { lostCount += 1 }
        }
        #expect(lostCount == 0 && exchanges.count == 0 && exchanges.leaderCount == 0)
    }

    /// The record of the first key is that of the second one when the first exchange is told to end its wait.
    @Test func anExchangeThatHasEndedEndsNoOther() {
        let (exchanges, other) = (CacheExchanges(), CacheKey(url: "http://localhost/b"))
        guard case .leader(let first) = exchanges.join(key, variant: nil) else {
            Issue.record("no leader")
            return
        }
        first.end(storing: nil)?.settle(.left)
        guard case .leader(let second) = exchanges.join(other, variant: nil),
            case .waiter(let flight) = exchanges.join(other, variant: nil)
        else {
            Issue.record("no leader with a waiter")
            return
        }
        first.settle(.stored)
        #expect(first.end(storing: nil) == nil && flight.outcome == nil && exchanges.leaderCount == 1)
        second.settle(.notStored)
        #expect(flight.outcome == .notStored)
    }

    /// After these heads, another response may be the one to the request, whose equal requests still wait.
    @Test func headsThatDoNotDecideEndNoWait() {
        for code in [304, 407, 421, 500, 503] {
            #expect(CacheLead.isUndecided(HTTPResponse.Status(code: code)), "\(code)")
        }
        for code in [200, 204, 206, 301, 401, 404] {
            #expect(!CacheLead.isUndecided(HTTPResponse.Status(code: code)), "\(code)")
        }
    }
}
