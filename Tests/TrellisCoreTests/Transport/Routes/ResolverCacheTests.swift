import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The addresses that a resolver has returned, and the lookups under way.
@Suite(.timeLimit(.minutes(3)))
struct ResolverCacheTests {
    /// A resolver whose lookups end when the test says so.
    private final class Scripted: NameResolver {
        typealias Lookup = (name: String, reply: CheckedContinuation<ResolvedAddresses, any Error>)

        struct State {
            var asked: [String] = []
            var pending: [Lookup] = []
            var cancelled = 0
        }

        let state = Locked(State())
        var asked: [String] { state.withLock { $0.asked } }

        func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
            try await withTaskCancellationHandler {
                try await withThrowingContinuation { reply in
                    state.withLock { state in
                        state.asked.append("\(name) \(family)")
                        state.pending.append((name, reply))
                    }
                }
            } onCancel: {
                state.withLock { $0.cancelled += 1 }
            }
        }

        /// Waits until a number of lookups were begun.
        func begun(_ count: Int) async { while asked.count < count, !Task.isCancelled { await Task.yield() } }

        /// Removes the first lookup that has not ended, and returns its reply.
        func takeFirst() throws -> CheckedContinuation<ResolvedAddresses, any Error> {
            try #require(state.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }).reply
        }

        func end(_ result: Result<ResolvedAddresses, any Error>) throws { try takeFirst().resume(with: result) }

        func end(_ address: String, for duration: Duration) throws {
            try end(.success(try ResolvedAddresses([address], timeToLive: duration)))
        }
    }

    private struct Broken: Error {}

    private let clock = TestClock()
    private let resolver = Scripted()
    private let cache: ResolverCache

    init() { cache = ResolverCache(resolver) }

    private func ask(_ name: String = "a", _ family: AddressFamily = .any) -> Task<[String], any Error> {
        Task { try await cache.addresses(of: name, family, clock: clock.engineSide).map(\.description) }
    }

    private func settle(waiting count: Int) async {
        while cache.waitingCount != count, !Task.isCancelled { await Task.yield() }
    }

    @Test func equalNamesShareALookup() async throws {
        let tasks = (1...5).map { _ in ask() }
        await settle(waiting: 5)
        await resolver.begun(1)
        try resolver.end("192.0.2.1", for: .seconds(10))
        for task in tasks { #expect(try await task.value == ["192.0.2.1"]) }
        #expect(resolver.asked == ["a any"])
    }

    @Test func otherNamesAndFamiliesDoNot() async throws {
        let tasks = [ask(), ask("b"), ask("a", .ipv4)]
        await resolver.begun(3)
        #expect(resolver.asked.sorted() == ["a any", "a ipv4", "b any"])
        for _ in tasks { try resolver.end("192.0.2.1", for: .zero) }
        for task in tasks { _ = try await task.value }
    }

    @Test func addressesAreKeptForTheirTime() async throws {
        let first = ask()
        await resolver.begun(1)
        try resolver.end("192.0.2.1", for: .seconds(10))
        _ = try await first.value
        clock.move(by: .seconds(10) - .nanoseconds(1))
        #expect(try await ask().value == ["192.0.2.1"])
        #expect(resolver.asked.count == 1)
        clock.move(by: .nanoseconds(1))
        let second = ask()
        await resolver.begun(2)
        try resolver.end("192.0.2.2", for: .seconds(10))
        #expect(try await second.value == ["192.0.2.2"])
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func noTimeMeansNotAtAll(_ time: Duration) async throws {
        for count in 1...2 {
            let task = ask()
            await resolver.begun(count)
            try resolver.end("192.0.2.1", for: time)
            _ = try await task.value
        }
        #expect(cache.count == 0)
    }

    @Test func noTimeIsLongerThanADay() throws {
        #expect(try ResolvedAddresses(["::1"], timeToLive: .seconds(1 << 40)).timeToLive == .seconds(86_400))
    }

    @Test func failuresAreSharedAndNotKept() async throws {
        let tasks = [ask(), ask()]
        await settle(waiting: 2)
        await resolver.begun(1)
        try resolver.end(.failure(Broken()))
        for task in tasks { await #expect(throws: Broken.self) { try await task.value } }
        let next = ask()
        await resolver.begun(2)
        try resolver.end("::1", for: .seconds(1))
        #expect(try await next.value == ["::1"])
    }

    @Test func aNameWithoutAddressesIsNotKept() async throws {
        let task = ask()
        await resolver.begun(1)
        try resolver.end(.success(try ResolvedAddresses([], timeToLive: .seconds(10))))
        #expect(try await task.value == [] && cache.count == 0)
    }

    @Test func aCallerLeavesAlone() async throws {
        let (one, other) = (ask(), ask())
        await settle(waiting: 2)
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        await resolver.begun(1)
        #expect(resolver.state.withLock { $0.cancelled } == 0)
        try resolver.end("::1", for: .seconds(1))
        #expect(try await other.value == ["::1"])
    }

    @Test func theLastCallerCancelsTheLookup() async throws {
        let task = ask()
        await resolver.begun(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        while resolver.state.withLock({ $0.cancelled }) == 0, !Task.isCancelled { await Task.yield() }
        // The next caller is served by a lookup of its own, and not by the one that ends late.
        let next = ask()
        await resolver.begun(2)
        try resolver.end("192.0.2.1", for: .seconds(10))
        try resolver.end("192.0.2.2", for: .seconds(10))
        #expect(try await next.value == ["192.0.2.2"])
        #expect(try await ask().value == ["192.0.2.2"])
    }

    @Test func theNumberOfNamesIsBounded() async throws {
        for number in 0...ResolverCache.limit {
            let task = ask("\(number)")
            await resolver.begun(number + 1)
            try resolver.end("::1", for: .seconds(100 + number))
            _ = try await task.value
        }
        #expect(cache.count == ResolverCache.limit)
        // The one that would have expired first has made room.
        let now = clock.engineSide.now()
        #expect(cache.knownAddresses(of: "0", .any, now: now) == nil)
        #expect(cache.knownAddresses(of: "1", .any, now: now) != nil)
    }

    /// The addresses of another network may be those of other servers. A lookup that was begun there serves only those that wait for it.
    @Test func aChangeOfTheNetworkForgetsAddresses() async throws {
        let first = ask()
        await resolver.begun(1)
        try resolver.end("192.0.2.1", for: .seconds(10))
        _ = try await first.value
        #expect(cache.count == 1)
        let early = ask("b")
        await resolver.begun(2)
        cache.networkDidChange()
        #expect(cache.count == 0)
        try resolver.end("192.0.2.2", for: .seconds(10))
        #expect(try await early.value == ["192.0.2.2"])
        let late = ask("b")
        await resolver.begun(3)
        try resolver.end("192.0.2.3", for: .seconds(10))
        #expect(try await late.value == ["192.0.2.3"] && cache.count == 1)
    }

    /// A lookup that was begun in another network may ask servers that are out of reach. Later requests do not wait for it.
    @Test func aRequestAfterAChangeOfTheNetworkIsServedByItsOwnLookup() async throws {
        let early = ask(), cancelled = ask()
        await settle(waiting: 2)
        await resolver.begun(1)
        cache.networkDidChange()
        let late = ask()
        await resolver.begun(2)
        #expect(resolver.asked == ["a any", "a any"] && cache.waitingCount == 3)
        // The earlier requests can still leave their lookup, one after the other.
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(resolver.state.withLock { $0.cancelled } == 0 && cache.waitingCount == 2)
        let old = try resolver.takeFirst()
        try resolver.end("192.0.2.2", for: .seconds(10))
        #expect(try await late.value == ["192.0.2.2"])
        #expect(cache.waitingCount == 1)
        // The end of the old lookup replaces nothing.
        old.resume(returning: try ResolvedAddresses(["192.0.2.1"], timeToLive: .seconds(10)))
        #expect(try await early.value == ["192.0.2.1"])
        #expect(try await ask().value == ["192.0.2.2"] && cache.count == 1)
        #expect(resolver.asked.count == 2)
    }

    @Test func addressesMustBeAddresses() {
        for text in ["", "a.example", "192.0.2.256", "fe80::1%eth0"] {
            #expect(throws: TrellisError.self) { try ResolvedAddresses([text], timeToLive: .zero) }
        }
    }
}
