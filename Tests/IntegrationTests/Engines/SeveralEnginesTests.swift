import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// A session with several engines, which share limits, queues and the choice of connections.
@Suite(.timeLimit(.minutes(2)))
struct SeveralEnginesTests {
    static func session(
        _ engines: EngineCount, perOrigin: Int = 64, total: Int = 256, clock: TestClock? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = engines
        configuration.limits = ConnectionLimits(total: total, perOrigin: perOrigin)
        change(&configuration)
        if let clock { return Session(configuration: configuration, clock: clock) }
        return Session(configuration: configuration)
    }

    /// Creates a server whose responses wait for the gate of their path.
    static func server(_ gate: @escaping @Sendable (String) -> LoopbackServer.Gate?) throws -> LoopbackServer {
        try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                if let gate = gate(request.path) { try connection.wait(for: gate) }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            }
        }
    }

    /// Starts a task on the thread of one engine.
    static func onEngine<Value: Sendable>(
        _ index: Int, of session: Session, _ body: @escaping @Sendable () async throws -> Value
    ) -> Task<Value, any Error> {
        Task(executorPreference: session.executors[index]) { try await body() }
    }

    /// Waits until the session has a number of requests that have not ended.
    static func waitUntilLive(_ session: Session, count: Int) async {
        while await session.liveRequestCount != count, !Task.isCancelled { await Task.yield() }
    }

    // MARK: Connections

    @Test func requestsInSuccessionUseOneConnectionAndOneThread() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(.fixed(4))
        for _ in 0..<20 { #expect(try await session.string(server.url()) == "hello") }
        #expect(server.acceptedCount == 1)
        #expect(session.engineStatistics.map(\.requestCount) == [20, 0, 0, 0])
        #expect(session.engines.started.count == 1)
        await session.shutdown()
    }

    @Test(arguments: [EngineCount.one, .fixed(2)])
    func anIdleConnectionCountsTowardsTheTotal(_ engines: EngineCount) async throws {
        let gate = LoopbackServer.Gate()
        let first = try LoopbackServer.http { _ in .text("hello") }
        let second = try Self.server { _ in gate }
        let session = Self.session(engines, total: 1)
        _ = try await session.data(first.url())
        async let held = session.string(second.url())
        try await second.waitUntilRequested(count: 1)
        try await first.waitUntilAllClosed()
        gate.open()
        #expect(try await held == "hello")
        await session.shutdown()
    }

    @Test func aRequestBeginsOnTheEngineOfItsOriginIfTheLimitLeavesOnlyOne() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(.fixed(2), perOrigin: 1)
        _ = try await Self.onEngine(0, of: session) { try await session.data(server.url()) }.value
        let metrics = try await Self.onEngine(1, of: session) {
            try await session.data(server.url()).1.metrics
        }.value
        #expect(metrics.isReusedConnection == true)
        #expect(server.acceptedCount == 1)
        #expect(session.engineStatistics.map(\.requestCount) == [2, 0])
        await session.shutdown()
    }

    @Test(arguments: [2, 4])
    func theLimitOfAnOriginHoldsForAllEnginesTogether(_ engines: Int) async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(.fixed(engines), perOrigin: 3)
        let tasks = (0..<60).map { number in
            Self.onEngine(number % engines, of: session) {
                for _ in 0..<5 { _ = try await session.data(server.url()) }
            }
        }
        for task in tasks { try await task.value }
        #expect(server.acceptedCount <= 3)
        #expect(server.openCount <= 3)
        #expect(session.engineStatistics.reduce(0) { $0 + $1.requestCount } == 300)
        await session.shutdown()
    }

    @Test func theTotalLimitHoldsForAllEnginesTogether() async throws {
        let servers = try (0..<6).map { _ in try LoopbackServer.http { _ in .text("hello") } }
        let session = Self.session(.fixed(2), total: 2)
        for (number, server) in servers.enumerated() {
            _ = try await Self.onEngine(number % 2, of: session) { try await session.data(server.url()) }.value
            // Of the servers before, at most one still has its connection.
            for closed in servers[..<max(number - 1, 0)] { try await closed.waitUntilAllClosed() }
        }
        #expect(servers.reduce(0) { $0 + $1.openCount } == 2)
        await session.shutdown()
    }

    @Test func theIdleConnectionThatWasUsedLeastRecentlyIsClosed() async throws {
        let servers = try (0..<4).map { _ in try LoopbackServer.http { _ in .text("hello") } }
        let session = Self.session(.fixed(2), total: 3)
        for index in [0, 1, 2, 0, 3] { _ = try await session.data(servers[index].url()) }
        try await servers[1].waitUntilAllClosed()
        #expect(servers.map(\.openCount) == [1, 0, 1, 1])
        await session.shutdown()
    }

    @Test func aCallWithStepsBeginsOnTheEngineThatHasAnIdleConnection() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(.fixed(2)) { $0.steps.intercept(with: RetryPolicy(retryLimit: 1)) }
        _ = try await Self.onEngine(1, of: session) { try await session.data(server.url()) }.value
        let stream = try await session.stream(server.url())
        #expect(try await stream.chunks.collect(upTo: 100) == Data("hello".utf8))
        #expect(session.engineStatistics.map(\.requestCount) == [0, 2])
        // The first engine was not needed in order to find the connection.
        #expect(session.engines.started.count == 1)
        await session.shutdown()
    }

    @Test func theFirstEngineClosesItsIdleConnectionsWhenASecondOneBegins() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(.automatic)
        _ = try await session.data(server.url())
        session.engines.activate(2)
        try await server.waitUntilAllClosed()
        let later = try await session.data(server.url())
        #expect(later.1.metrics.isReusedConnection == false)
        await session.shutdown()
    }

    // MARK: Order

    @Test func theOrderOfWaitingRequestsHoldsAcrossEngines() async throws {
        let gate = LoopbackServer.Gate()
        let server = try Self.server { $0 == "/first" ? gate : nil }
        let session = Self.session(.fixed(4), perOrigin: 1)
        let first = Self.onEngine(0, of: session) { try await session.data(server.url("/first")) }
        try await server.waitUntilRequested(count: 1)
        var tasks: [Task<Void, any Error>] = []
        for number in 1...12 {
            tasks.append(
                Self.onEngine(number % 4, of: session) {
                    var request = Request(server.url("/\(number)"))
                    if number.isMultiple(of: 3) { request.priority = .high }
                    _ = try await session.data(request)
                })
            await Self.waitUntilLive(session, count: number + 1)
        }
        gate.open()
        _ = try await first.value
        for task in tasks { try await task.value }
        let order = server.requests.map { String($0.path.dropFirst()) }
        #expect(order == ["first", "3", "6", "9", "12", "1", "2", "4", "5", "7", "8", "10", "11"])
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    // MARK: Requests on another engine

    /// Runs `body` with a task on the second engine whose request waits for its response on the first, where its origin lives.
    static func elsewhere(
        _ session: Session, _ request: @escaping @Sendable (String) async throws -> Void,
        _ body: (Task<Void, any Error>, LoopbackServer) async throws -> Void
    ) async throws {
        let gates = [LoopbackServer.Gate(), LoopbackServer.Gate()]
        let server = try server { gates[$0 == "/first" ? 0 : 1] }
        let first = onEngine(0, of: session) { try await session.data(server.url("/first")) }
        try await server.waitUntilRequested(count: 1)
        let task = onEngine(1, of: session) { try await request(server.url("/second")) }
        await waitUntilLive(session, count: 2)
        gates[0].open()
        _ = try await first.value
        try await server.waitUntilRequested(count: 2)
        #expect(session.engineStatistics.map(\.requestCount) == [2, 0])
        try await body(task, server)
        gates[1].open()
        await session.shutdown()
    }

    @Test func aRequestOnAnotherEngineIsCancelledWithItsTask() async throws {
        let session = Self.session(.fixed(2), perOrigin: 1)
        try await Self.elsewhere(session) {
            _ = try await session.data($0)
        } _: { task, server in
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await server.waitUntilAllClosed()
            #expect(await session.liveRequestCount == 0)
        }
    }

    @Test func theDeadlineOfACallHoldsForItsRequestOnAnotherEngine() async throws {
        let clock = TestClock()
        let session = Self.session(.fixed(2), perOrigin: 1, clock: clock) {
            $0.steps.intercept(with: RetryPolicy(retryLimit: 1))
        }
        try await Self.elsewhere(session) { url in
            _ = try await session.data(Request(url).withTimeouts(Timeouts(total: .seconds(30))))
        } _: { task, server in
            clock.move(by: .seconds(30))
            let error = await #expect(throws: TrellisError.self) { try await task.value }
            #expect(error?.reason == .timedOut(.total))
            #expect(error?.phase == .sending)
            try await server.waitUntilAllClosed()
            #expect(await session.liveRequestCount == 0)
        }
    }

    @Test func allRequestsAreCancelledWhereverTheyAre() async throws {
        let session = Self.session(.fixed(2), perOrigin: 1) { $0.steps.intercept(with: RetryPolicy(retryLimit: 1)) }
        try await Self.elsewhere(session) {
            _ = try await session.data($0)
        } _: { task, server in
            await session.cancelAllRequests()
            let error = await #expect(throws: TrellisError.self) { try await task.value }
            #expect(error?.kind == .cancelled)
            try await server.waitUntilAllClosed()
        }
    }

    @Test func cancellingAllRequestsReturnsAfterTheEndOfThoseOnOtherEngines() async throws {
        for _ in 0..<(Scale.isFull ? 40 : 10) {
            let session = Self.session(.fixed(2), perOrigin: 1)
            try await Self.elsewhere(session) {
                _ = try await session.data($0)
            } _: { task, _ in
                await session.cancelAllRequests()
                #expect(await session.liveRequestCount == 0)
                await #expect(throws: TrellisError.self) { try await task.value }
            }
        }
    }

    @Test func aHandleOnAnotherEngineIsSuspendedAndResumed() async throws {
        let session = Self.session(.fixed(2), perOrigin: 1)
        let handles = Locked<[DataRequest]>([])
        try await Self.elsewhere(session) { url in
            let handle = session.request(url)
            handles.withLock { $0.append(handle) }
            _ = try await handle.data()
        } _: { task, _ in
            let handle = try #require(handles.withLock { $0.first })
            handle.suspend()
            #expect(await handle.state == .suspended)
            handle.resume()
            #expect(await handle.state == .resumed)
            handle.cancel()
            await #expect(throws: TrellisError.self) { try await task.value }
        }
    }

    // MARK: Tasks on an engine

    @Test func aTaskOnAnEngineKeepsItsRequestsThere() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(.fixed(3))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for executor in session.executors {
                group.addTask(executorPreference: executor) {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<4 { group.addTask { _ = try await session.data(server.url()) } }
                        try await group.waitForAll()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(session.engineStatistics.reduce(0) { $0 + $1.requestCount } == 12)
        #expect(session.engineStatistics.allSatisfy { $0.requestCount > 0 })
        await session.shutdown()
    }

    @Test func executorsAreHandedOutInTurn() {
        let session = Self.session(.fixed(3))
        let names = (0..<6).map { _ in ObjectIdentifier(session.executor) }
        #expect(Set(names).count == 3)
        #expect(Array(names[..<3]) == Array(names[3...]))
    }

    // MARK: Life

    @Test func noEngineBeginsAfterTheShutdown() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(EngineCount(initial: 1, maximum: 4))
        _ = try await session.data(server.url())
        await session.shutdown()
        #expect(session.engineStatistics.map(\.turnTime) == [.zero])
        await #expect(throws: TrellisError.self) { try await session.data(server.url()) }
        session.engines.activate(3)
        #expect(session.engines.all.count == 1)
    }

    /// A sample of an engine may want another engine when the shutdown has begun.
    @Test func noMoreEnginesAreActiveThanThereAre() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Self.session(EngineCount(initial: 2, maximum: 4))
        session.engines.close()
        session.engines.activate(3)
        #expect(session.engines.all.count == 2)
        #expect(try await session.string(server.url()) == "hello")
        await session.shutdown()
    }

    @Test func equalRequestsOnTwoEnginesAreSentOnce() async throws {
        let gate = LoopbackServer.Gate()
        let server = try Self.server { _ in gate }
        let flight = RequestCoalescing()
        let session = Self.session(.fixed(2)) { $0.steps.application.append(flight) }
        let tasks = (0..<2).map { index in
            Self.onEngine(index, of: session) { try await session.string(server.url()) }
        }
        try await server.waitUntilRequested(count: 1)
        await Self.waitUntilLive(session, count: 1)
        while await session.liveRequests.count < 3, !Task.isCancelled { await Task.yield() }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        #expect(server.requests.count == 1)
        await session.shutdown()
    }
}
