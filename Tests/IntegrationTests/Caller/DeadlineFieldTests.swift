import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A server learns how much time is left of a call, and what would be too late is not sent.
@Suite(.timeLimit(.minutes(3)))
struct DeadlineFieldTests {
    @Test func aRetryAndARedirectSayWhatIsLeft() async throws {
        let count = Locked(0)
        let server = try LoopbackServer.http { _ in
            switch count.next() {
            case 1: .text("", status: 503)
            case 2: LoopbackServer.Response(302, headers: [("Location", "/next")])
            default: .text("done")
            }
        }
        let clock = TestClock()
        var configuration = SessionConfiguration()
        configuration.timeouts.total = .seconds(10)
        configuration.timeouts.deadlineField = .grpcTimeout
        configuration.steps.retriers = [
            Retrier { _, context in context.attempt == 1 ? .retryWithDelay(.seconds(4)) : .doNotRetry }
        ]
        let session = Session(configuration: configuration, clock: clock)
        let text = Task { try await session.string(server.url("/")) }
        try await server.waitUntilRequested(count: 1)
        await clock.waitForSleepers()
        clock.move(by: .seconds(4))
        #expect(try await text.value == "done")
        #expect(server.requests.map { $0["grpc-timeout"] } == ["10000000u", "6000000u", "6000000u"])
        #expect(server.requests.map { $0.values(of: "grpc-timeout").count } == [1, 1, 1])
        #expect(DeadlineField.grpcTimeout.timeLeft(in: server.requests[1].headers) == .seconds(6))
        await session.shutdown()
    }

    @Test func behindABlockedServerCallsAreShed() async throws {
        let mayAnswer = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: mayAnswer)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = 1
        configuration.limits.waitingPerOrigin = 2
        let session = Session(configuration: configuration, clock: TestClock())
        let blocked = Task { try await session.string(server.url("/")) }
        try await server.waitUntilRequested(count: 1)
        let kinds = Locked([TrellisError.Kind?]())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    do {
                        _ = try await session.string(server.url("/"))
                    } catch {
                        let isLast = kinds.withLock { kinds in
                            kinds.append((error as? TrellisError)?.kind)
                            return kinds.count == 4
                        }
                        if isLast { mayAnswer.open() }
                    }
                }
            }
        }
        #expect(try await blocked.value == "ok")
        #expect(kinds.withLock { $0 } == [.shed, .shed, .shed, .shed])
        #expect(server.requests.count == 3)
        await session.shutdown()
    }
}
