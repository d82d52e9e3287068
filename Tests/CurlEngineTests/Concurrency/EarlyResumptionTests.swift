import Synchronization
import Testing

@testable import CurlEngine

/// A continuation that is resumed before its task awaits it passes its result without a report of the thread sanitizer.
@Suite(.timeLimit(.minutes(3)))
struct EarlyResumptionTests {
    /// A result that the engine thread writes and the waiting task reads.
    private final class Answer: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    private struct Failure: Error { let answer: Answer }

    /// A flag without an order: the sanitizer sees no synchronisation between the thread that sets the flag and one that reads it.
    private final class Flag: Sendable {
        private let value = Atomic(false)
        func set() { value.store(true, ordering: .relaxed) }
        func wait() { while !value.load(ordering: .relaxed) {} }
    }

    private let engine = EngineExecutor()

    /// Calls `resume` on the engine thread, and returns when it has returned.
    private func early(_ resume: @escaping @Sendable () -> Void) {
        let flag = Flag()
        engine.submit {
            resume()
            flag.set()
        }
        flag.wait()
    }

    @Test func aReply() async throws {
        let answer = try await withReply { reply in early { reply.resume(with: .success(Answer(1))) } }
        #expect(answer.number == 1)
        await engine.shutDown()
    }

    @Test func aFailedReply() async {
        let error = await #expect(throws: Failure.self) {
            try await withReply { (reply: Reply<Void>) in
                early { reply.resume(with: .failure(Failure(answer: Answer(2)))) }
            }
        }
        #expect(error?.answer.number == 2)
        await engine.shutDown()
    }

    @Test func aContinuation() async {
        let answer = await withContinuation { continuation in early { continuation.resume(returning: Answer(3)) } }
        #expect(answer.number == 3)
        await engine.shutDown()
    }

    @Test func aThrowingContinuation() async {
        let error = await #expect(throws: Failure.self) {
            try await withThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                early { continuation.resume(throwing: Failure(answer: Answer(4))) }
            }
        }
        #expect(error?.answer.number == 4)
        await engine.shutDown()
    }
}
