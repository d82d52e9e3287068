import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Cancellation handlers of user code run on the pool: a handler that blocks must not stop the engine.
@Suite(.timeLimit(.minutes(3)))
struct CancellationThreadTests {
    /// A record of the threads on which handlers have run.
    private final class Threads: Sendable {
        private let isEngine = Locked<[Bool]>([])
        let hasRun = LoopbackServer.Gate()

        func record() {
            isEngine.withLock { $0.append(CallingThread.isEngine) }
            hasRun.open()
        }

        var all: [Bool] { isEngine.withLock { $0 } }
    }

    @Test func theSourceOfARefusedBodyIsCancelledOnThePool() async throws {
        let scripted = Scripted(), threads = Threads()
        let (chunks, source) = AsyncStream<Data>.makeStream()
        source.onTermination = { _ in threads.record() }
        source.yield(Data(count: 10))
        let task = outcome {
            "\(try await scripted.session.upload(.stream(chunks), to: "http://a.example/").1.status.code)"
        }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        try await attempt.wait(for: .send(Data(count: 10)))
        attempt.receiveHead(status: 413)
        attempt.end()
        #expect(await task.value == .answer("413"))
        try await threads.hasRun.opened()
        #expect(threads.all == [false])
    }

    @Test func aStepThatWaitsIsCancelledByTheDeadlineOnThePool() async throws {
        let threads = Threads(), isWaiting = LoopbackServer.Gate()
        let scripted = Scripted {
            $0.steps.adapters.append(
                Adapter { request, _ in
                    let (stream, continuation) = AsyncStream<Void>.makeStream()
                    continuation.onTermination = { _ in threads.record() }
                    isWaiting.open()
                    for await _ in stream {}
                    withExtendedLifetime(continuation) {}
                    return request
                })
        }
        let task = outcome { [session = scripted.session] in
            "\(try await session.data("http://a.example/", timeouts: Timeouts(total: .seconds(5))).1.status.code)"
        }
        try await isWaiting.opened()
        await scripted.advance(by: .seconds(6))
        #expect(await task.value == .failed(.timedOut(.total)))
        try await threads.hasRun.opened()
        #expect(threads.all == [false])
    }
}
