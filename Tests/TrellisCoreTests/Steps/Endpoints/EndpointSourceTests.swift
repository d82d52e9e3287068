import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The sets of endpoints that a directory or a name gives.
@Suite(.timeLimit(.minutes(3)))
struct EndpointSourceTests {
    /// A directory whose sequences the test feeds.
    final class Directory: ServiceDiscovery {
        typealias Continuation = AsyncThrowingStream<[Endpoint], any Error>.Continuation

        let origins = Locked<[String]>([])
        private let (asked, asking) = AsyncStream.makeStream(of: Continuation.self)

        func endpoints(of origin: String) -> AsyncThrowingStream<[Endpoint], any Error> {
            origins.withLock { $0.append(origin) }
            let (sets, continuation) = AsyncThrowingStream.makeStream(of: [Endpoint].self)
            asking.yield(continuation)
            return sets
        }

        /// Returns the next sequence that is observed.
        func next() async throws -> Continuation {
            for await continuation in asked { return continuation }
            throw CancellationError()
        }
    }

    struct Broken: Error {}

    /// A session whose origin `http://a.example` has the endpoints of a directory.
    struct World {
        let directory = Directory()
        let scripted: Scripted

        init() {
            let pool = EndpointPool(discovery: directory, policy: .roundRobin)
            scripted = Scripted { $0.endpoints["http://a.example"] = pool }
        }

        var session: Session { scripted.session }
        var group: EndpointGroup? { session.endpoints?.all.first }
        var hosts: [String] { group?.members.map(\.endpoint.host) ?? [] }

        func send() -> Task<Response, any Error> { Task { [session] in try await session.data("http://a.example/").1 } }

        /// Sends a request that waits for the first set.
        func park() async -> Task<Response, any Error> {
            let task = send()
            while group?.waitingCount != 1, !Task.isCancelled { await Task.yield() }
            return task
        }

        func wait(for hosts: [String]) async {
            while self.hosts != hosts, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func requestsWaitForTheFirstSetAndEachReplacesTheOneBefore() async throws {
        let world = World()
        let task = await world.park()
        let sets = try await world.directory.next()
        #expect(world.scripted.transport.attempts.isEmpty)
        sets.yield(try [Endpoint("one"), Endpoint("two")])
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await task.value
        sets.yield(try [Endpoint("two"), Endpoint("three")])
        await world.wait(for: ["two", "three"])
        #expect(world.directory.origins.withLock { $0 } == ["http://a.example"])
    }

    @Test func theEndKeepsTheLastSet() async throws {
        let world = World()
        let task = await world.park()
        let sets = try await world.directory.next()
        sets.yield(try [Endpoint("one")])
        sets.finish()
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await task.value
        let second = world.send()
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await second.value
        #expect(world.hosts == ["one"])
    }

    @Test func anErrorKeepsTheLastSetAndTheDirectoryIsAskedAgain() async throws {
        let world = World()
        let task = await world.park()
        let sets = try await world.directory.next()
        sets.yield(try [Endpoint("one")])
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await task.value
        sets.finish(throwing: Broken())
        await world.scripted.clock.waitForSleepers()
        #expect(world.hosts == ["one"])
        await world.scripted.advance(by: .seconds(1))
        try await world.directory.next().yield([Endpoint("two")])
        await world.wait(for: ["two"])
    }

    @Test func anErrorBeforeTheFirstSetIsTheCauseOfTheRequests() async throws {
        let world = World()
        let task = await world.park()
        try await world.directory.next().finish(throwing: Broken())
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.kind == .noEndpoint && error?.underlying is Broken)
    }

    @Test func aDirectoryWithoutASetIsNoReasonToWait() async throws {
        let world = World()
        let task = await world.park()
        try await world.directory.next().finish()
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.kind == .noEndpoint && error?.description.contains("has ended") == true)
    }

    @Test func theLimitOnConnectingEndsTheWait() async throws {
        let world = World()
        let request = Request("http://a.example/").withTimeouts(Timeouts(connect: .seconds(2)))
        let task = Task { try await world.session.data(request) }
        while world.group?.waitingCount != 1, !Task.isCancelled { await Task.yield() }
        await world.scripted.advance(by: .seconds(2))
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.kind == .connectTimeout)
        #expect(error?.detail == "the endpoints of http://a.example are not known yet")
        while world.group?.waitingCount != 0, !Task.isCancelled { await Task.yield() }
    }

    @Test func aCancelledRequestWaitsNoMore() async throws {
        let world = World()
        let task = await world.park()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        while world.group?.waitingCount != 0, !Task.isCancelled { await Task.yield() }
    }

    @Test func theObservationEndsWithTheSession() async throws {
        let world = World()
        let task = await world.park()
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let sets = try await world.directory.next()
        sets.onTermination = { _ in end.finish() }
        await world.session.shutdown()
        for await _ in ends {}
        await #expect(throws: (any Error).self) { try await task.value }
    }

    // MARK: Names

    /// Look-ups whose answers the test gives, one after the other.
    struct Lookups {
        let answers = Locked<[Result<[Endpoint], Broken>]>([])
        let count = Locked(0)
        let clock = TestClock()
        let group: EndpointGroup

        init(_ answers: [Result<[Endpoint], Broken>]) {
            self.answers.withLock { $0 = answers }
            let pool = EndpointPool(addressesOf: "a.example", every: .seconds(10), policy: .roundRobin)
            let feed = EndpointLookups(every: .seconds(10), clock: clock.engineSide) {
                [answers = self.answers, count] in
                count.withLock { $0 += 1 }
                return try answers.withLock { $0.removeFirst() }.get()
            }
            group = EndpointGroup(pool, origin: "http://a.example:80", feed: feed)
        }

        var hosts: [String] { group.members.map(\.endpoint.host) }

        /// Asks for an endpoint as a request does. Returns whether the request would wait.
        func ask(hasWaited: Bool = false) throws -> Int? {
            let context = CallContext.test(clock: clock)
            let answer = try group.lease(
                for: Request("http://a.example/"), context, hasWaited: hasWaited, isRefused: { _ in false })
            if case .wait(let news) = answer { return news }
            return nil
        }
    }

    @Test func aNameIsLookedUpAgainWhenARequestFindsItsAddressesOld() async throws {
        let (one, two) = (try Endpoint("10.0.0.1"), try Endpoint("10.0.0.2"))
        let world = Lookups([.success([one]), .success([one, two]), .success([two])])
        try await world.group.wait(after: try #require(try world.ask()))
        #expect(world.hosts == ["10.0.0.1"])
        world.clock.move(by: .milliseconds(9_999))
        #expect(try world.ask() == nil && world.count.withLock { $0 } == 1)
        world.clock.move(by: .milliseconds(1))
        // The request goes to the known addresses meanwhile.
        #expect(try world.ask() == nil)
        try await world.group.wait(after: 1)
        #expect(world.hosts == ["10.0.0.1", "10.0.0.2"])
        world.clock.move(by: .seconds(20))
        try await world.group.wait(after: try #require(try world.ask()))
        #expect(world.hosts == ["10.0.0.2"] && world.count.withLock { $0 } == 3)
    }

    @Test func aFailedLookupKeepsTheAddressesAndComesAgainSoon() async throws {
        let one = try Endpoint("10.0.0.1")
        let world = Lookups([.failure(Broken()), .success([one]), .failure(Broken()), .success([])])
        try await world.group.wait(after: try #require(try world.ask()))
        let error = #expect(throws: TrellisError.self) { try world.ask(hasWaited: true) }
        #expect(error?.underlying is Broken)
        world.clock.move(by: .seconds(1))
        try await world.group.wait(after: try #require(try world.ask()))
        #expect(world.hosts == ["10.0.0.1"])
        world.clock.move(by: .seconds(20))
        try await world.group.wait(after: try #require(try world.ask()))
        #expect(try world.ask(hasWaited: true) == nil && world.hosts == ["10.0.0.1"])
        world.clock.move(by: .seconds(1))
        try await world.group.wait(after: try #require(try world.ask()))
        #expect(world.hosts == [])
    }
}
