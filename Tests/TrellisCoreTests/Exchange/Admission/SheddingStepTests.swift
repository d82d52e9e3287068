import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Calls of a session that sheds load, while a request holds the only connection of their origin.
@Suite(.timeLimit(.minutes(3)))
struct SheddingStepTests {
    private static func scripted(_ change: (inout SessionConfiguration) -> Void) -> Scripted {
        Scripted {
            $0.limits.perOrigin = 1
            change(&$0)
        }
    }

    private static func start(
        _ priority: RequestPriority, timeout: Duration? = Timeouts.inherited, in scripted: Scripted
    ) -> Task<String, any Error> {
        let request = Request("http://localhost/").withPriority(priority)
        return Task { try await scripted.session.string(request, timeouts: Timeouts(total: timeout)) }
    }

    @Test func aCallThatIsPushedOutFailsAsShedAndTheOthersAreServed() async throws {
        let scripted = Self.scripted { $0.limits.waitingPerOrigin = 1 }
        let (blocker, blocking) = try await scripted.block()
        let low = Self.start(.low, in: scripted)
        await scripted.waitUntilLive(count: 2)
        await scripted.session.settle()
        let high = Self.start(.high, in: scripted)
        let error = await #expect(throws: TrellisError.self) { try await low.value }
        #expect(error?.reason == .limited(.shed(origin: "http://localhost", ahead: 1, wait: nil)))
        #expect(error?.kind == .shed && error?.isShed == true && error?.phase == .queued)
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == true)
        blocking.respond()
        _ = try await blocker.data()
        try await scripted.transport.nextAttempt().respond("served")
        #expect(try await high.value == "served")
    }

    @Test func aShedCallIsNotRetriedByThePolicy() async throws {
        let scripted = Self.scripted {
            $0.limits.waitingPerOrigin = 0
            $0.retry = RetryPolicy(retryLimit: 5)
        }
        let (blocker, blocking) = try await scripted.block()
        let error = await #expect(throws: TrellisError.self) { try await Self.start(.high, in: scripted).value }
        #expect(error?.kind == .shed && error?.attemptCount == 0)
        blocking.respond()
        _ = try await blocker.data()
    }

    @Test func aCallThatWouldBeTooLateFailsAtOnce() async throws {
        let scripted = Self.scripted { $0.limits.shedsLateRequests = true }
        for _ in 0..<16 {
            let (handle, attempt) = try await scripted.block()
            await scripted.advance(by: .seconds(1))
            attempt.respond()
            _ = try await handle.data()
        }
        let (blocker, blocking) = try await scripted.block()
        let patient = Self.start(.normal, timeout: .seconds(5), in: scripted)
        await scripted.waitUntilLive(count: 2)
        await scripted.session.settle()
        let late = Self.start(.normal, timeout: .seconds(2), in: scripted)
        let error = await #expect(throws: TrellisError.self) { try await late.value }
        #expect(error?.reason == .limited(.shed(origin: "http://localhost", ahead: 1, wait: .seconds(2))))
        #expect(error?.elapsed == .zero)
        #expect(
            error?.description == "GET http://localhost/: the wait for http://localhost would take about 2.0 s, "
                + "with 1 ahead of the request, and the deadline is earlier")
        blocking.respond()
        _ = try await blocker.data()
        try await scripted.transport.nextAttempt().respond("served")
        #expect(try await patient.value == "served")
    }
}
