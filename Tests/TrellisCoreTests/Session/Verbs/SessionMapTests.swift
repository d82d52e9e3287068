import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// A value for each of many elements, some of them at a time.
@Suite(.timeLimit(.minutes(3)))
struct SessionMapTests {
    private struct Refusal: Error {}

    private let session = Session(transport: MockTransport { .text($0.path) })

    @Test(arguments: [-1, 1, 3, 100])
    func theValuesHaveTheOrderOfTheElements(_ concurrency: Int) async throws {
        let numbers = Array(0..<20)
        let values = try await session.map(numbers, concurrency: concurrency) { session, number in
            try await session.string("http://a.example/\(number)")
        }
        #expect(values == numbers.map { "/\($0)" })
    }

    @Test func noMoreElementsAreUnderWayThanTheConcurrency() async throws {
        let state = Locked((active: 0, most: 0))
        _ = try await session.map(0..<30, concurrency: 4) { _, _ in
            state.withLock { state in
                state.active += 1
                state.most = max(state.most, state.active)
            }
            await Task.yield()
            state.withLock { $0.active -= 1 }
        }
        let most = state.withLock { $0.most }
        #expect(most <= 4)
    }

    @Test func theConcurrencyIsUsed() async throws {
        let (waiting, gate) = (Locked(0), LoopbackServer.Gate())
        _ = try await session.map(0..<6, concurrency: 3) { _, _ in
            // Each of the first three waits until all three have begun.
            let count = waiting.withLock { count in
                count += 1
                return count
            }
            if count == 3 { gate.open() }
            try await gate.opened()
        }
        #expect(waiting.withLock { $0 } == 6)
    }

    @Test func theFirstErrorEndsTheRest() async throws {
        let begun = Locked<[Int]>([])
        let never = LoopbackServer.Gate()
        await #expect(throws: Refusal.self) {
            try await session.map(0..<100, concurrency: 3) { _, number in
                begun.withLock { $0.append(number) }
                if number == 2 { throw Refusal() }
                // Ends only because its task is cancelled.
                try await never.opened()
            }
        }
        let numbers = begun.withLock { $0 }
        #expect(numbers.allSatisfy { $0 < 3 })
    }

    @Test func aCancelledTaskEndsAll() async throws {
        let (begun, never) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let task = Task {
            try await session.map(0..<10, concurrency: 2) { _, _ in
                begun.open()
                try await never.opened()
            }
        }
        try await begun.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func noElementsAreNoValues() async throws {
        #expect(try await session.map([String]()) { _, _ in 1 } == [])
    }
}
