import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// More requests than a server allows on one HTTP/2 connection open further connections, up to the limit per origin, and then wait.
///
/// Serialized, because all tests share one peer, whose limit they change.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct StreamLimitTests {
    private static let started = Peer.started("http2_limits.py")

    /// The connections of the peer.
    struct Counts: Decodable {
        let open: Int
        let streams: [Int]
        let peakOpen: Int
        let peakStreams: Int
        let accepted: Int
        let violations: Int

        /// The number of requests that the peer is answering.
        var requests: Int { streams.reduce(0, +) }
    }

    private struct Nothing: Decodable {}

    /// A monitor that keeps the connections that were added.
    private final class Added: EventMonitor {
        let events = Locked<[String]>([])
        func handle(_ event: RequestEvent) async {
            guard case .connectionAdded(let number, let limit) = event.kind else { return }
            events.withLock { $0.append("\(number) \(limit)") }
        }
    }

    private let peer: Peer
    private let clock = TestClock()

    init() async throws { peer = try await Self.started.value }

    private func tell(_ command: String) async throws { _ = try await peer.answer(Nothing.self, to: command) }

    private func counts() async throws -> Counts { try await peer.answer(to: "counts") }

    /// Waits until the peer is answering a number of requests.
    private func untilRequested(_ count: Int) async throws -> Counts {
        var counts = try await counts()
        while counts.requests != count {
            try Task.checkCancellation()
            counts = try await self.counts()
        }
        return counts
    }

    private func session(
        perOrigin: Int, requests: Int? = nil, monitor: (any EventMonitor)?, _ way: HTTP2Peer.Way
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.httpVersion = way == .tls ? .http2 : .http2PriorKnowledge
        configuration.limits = ConnectionLimits(
            perOrigin: perOrigin, requestsPerOrigin: requests, idleLifetime: .seconds(40))
        configuration.limits.sharedPerOrigin = perOrigin
        if let monitor { configuration.eventMonitors = [monitor] }
        return Session(configuration: configuration, clock: clock)
    }

    /// Sets the peer's limit, lets it hold requests to `/hold`, and returns a session that knows the limit.
    private func holding(
        limit: Int, perOrigin: Int, requests: Int? = nil, monitor: (any EventMonitor)? = nil,
        _ way: HTTP2Peer.Way = .tls
    ) async throws -> Session {
        try await tell("limit \(limit)")
        try await tell("hold")
        let session = session(perOrigin: perOrigin, requests: requests, monitor: monitor, way)
        _ = try await session.data(request("/ok", way))
        return session
    }

    /// Waits until a number of requests is under way.
    private func untilLive(_ count: Int, _ session: Session) async {
        while await session.liveRequestCount < count, !Task.isCancelled { await Task.yield() }
        await session.settle()
    }

    private func close(_ session: Session) async throws {
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }

    private func request(_ path: String, _ way: HTTP2Peer.Way = .tls) throws -> Request {
        Request(try peer.url(way.rawValue, path, scheme: way == .tls ? "https" : "http"))
    }

    /// Starts requests that the peer answers when it is told to.
    private func hold(_ count: Int, _ session: Session, _ way: HTTP2Peer.Way = .tls) throws -> Task<Int, any Error> {
        let request = try request("/hold", way)
        return Task {
            try await withThrowingTaskGroup { group in
                for _ in 0..<count { group.addTask { try await session.data(request).1.status.code } }
                return try await group.reduce(0) { $0 + ($1 == 200 ? 1 : 0) }
            }
        }
    }

    /// The limits and the ways, of which the everyday run has each once.
    static let limits: [(Int, HTTP2Peer.Way)] =
        [(1, .cleartext), (2, .tls), (10, .tls)]
        + (Scale.isFull ? [(1, .tls), (2, .cleartext), (10, .cleartext)] : [])

    @Test(arguments: limits)
    func connectionsAreAddedUpToTheLimit(_ limit: Int, _ way: HTTP2Peer.Way) async throws {
        let session = try await holding(limit: limit, perOrigin: 4, way)
        let room = 4 * limit
        let responses = try hold(room + 30, session, way)
        let counts = try await untilRequested(room)
        #expect(counts.open == 4)
        try await tell("release")
        #expect(try await responses.value == room + 30)
        let end = try await self.counts()
        #expect(end.violations == 0)
        #expect(end.peakStreams == limit)
        #expect(end.peakOpen == 4)
        try await close(session)
    }

    /// Streams count as requests: the limit on requests leaves room on the connection, which nobody uses.
    @Test(arguments: [HTTP2Peer.Way.tls, .cleartext])
    func noMoreRequestsAreInFlightThanTheLimitOnRequests(_ way: HTTP2Peer.Way) async throws {
        let session = try await holding(limit: 100, perOrigin: 64, requests: 3, way)
        let responses = try hold(9, session, way)
        let counts = try await untilRequested(3)
        #expect(counts.open == 1)
        for _ in 0..<4 {
            try await tell("release one")
            _ = try await untilRequested(3)
        }
        let end = try await self.counts()
        #expect(end.peakStreams <= 3)
        try await tell("release")
        #expect(try await responses.value == 9)
        try await close(session)
    }

    @Test func noMoreConnectionsAreMadeThanTheRequestsNeed() async throws {
        let added = Added()
        let session = try await holding(limit: 10, perOrigin: 64, monitor: added)
        let responses = try hold(100, session)
        let counts = try await untilRequested(100)
        #expect(counts.open == 10)
        try await tell("release")
        #expect(try await responses.value == 100)
        await session.shutdown()
        let events = added.events.withLock { $0 }
        #expect(events.count == counts.open - 1)
        #expect(events.contains("2 10"))
        try await peer.waitUntilAllClosed()
    }

    @Test func aLimitThatIsLoweredInFlightHolds() async throws {
        let session = try await holding(limit: 10, perOrigin: 2)
        let responses = try hold(40, session)
        _ = try await untilRequested(20)
        try await tell("limit 2")
        for _ in 0..<18 { try await tell("release one") }
        // The connections are used again only when they carry fewer requests than the new limit.
        _ = try await untilRequested(4)
        try await tell("hold")
        for _ in 0..<4 { try await tell("release one") }
        _ = try await untilRequested(4)
        let end = try await counts()
        #expect(end.peakStreams == 2)
        #expect(end.accepted == 0)
        #expect(end.violations == 0)
        try await tell("release")
        #expect(try await responses.value == 40)
        try await close(session)
    }

    @Test func aLimitThatIsRaisedIsUsed() async throws {
        let session = try await holding(limit: 1, perOrigin: 1)
        let responses = try hold(12, session)
        _ = try await untilRequested(1)
        try await tell("limit 10")
        try await tell("release one")
        _ = try await untilRequested(10)
        try await tell("release")
        #expect(try await responses.value == 12)
        #expect(try await counts().violations == 0)
        try await close(session)
    }

    /// A request that waits for a stream gets it before those of lower priorities.
    @Test func theHigherPriorityGetsTheNextStream() async throws {
        let session = try await holding(limit: 1, perOrigin: 1)
        let served = Locked<[RequestPriority]>([])
        func start(_ priority: RequestPriority) throws -> Task<Void, any Error> {
            let request = try request("/hold").withPriority(priority)
            return Task {
                _ = try await session.data(request)
                served.withLock { $0.append(priority) }
            }
        }
        var tasks = [try start(.normal)]
        _ = try await untilRequested(1)
        for _ in 0..<5 { tasks.append(try start(.normal)) }
        tasks.append(try start(.low))
        tasks.append(try start(.high))
        await untilLive(tasks.count, session)
        for count in 1...tasks.count {
            _ = try await untilRequested(1)
            try await tell("release one")
            while served.withLock({ $0.count }) < count { _ = try await counts() }
        }
        #expect(served.withLock { $0 } == [.normal, .high] + Array(repeating: .normal, count: 5) + [.low])
        for task in tasks { try await task.value }
        try await close(session)
    }

    @Test func cancelledRequestsLeaveTheWait() async throws {
        let session = try await holding(limit: 2, perOrigin: 2)
        let room = 2 * 2
        let responses = try hold(room + 50, session)
        _ = try await untilRequested(room)
        responses.cancel()
        _ = try? await responses.value
        #expect(try await session.data(request("/ok")).1.status == .ok)
        try await close(session)
    }

    /// Returns the error of a request that waits for a stream until it times out.
    ///
    /// - Parameter waits: The durations by which the clock is moved. The request must still wait before the last one.
    private func failureOfAWait(_ timeouts: Timeouts, _ waits: [Duration]) async throws -> TrellisError? {
        let session = try await holding(limit: 1, perOrigin: 1)
        let responses = try hold(1, session)
        _ = try await untilRequested(1)
        let request = try request("/ok").withTimeouts(timeouts)
        async let failure = expectFailure([.totalTimeout]) { try await session.data(request) }
        await untilLive(2, session)
        for wait in waits {
            await session.settle()
            #expect(await session.liveRequestCount == 2)
            clock.move(by: wait)
        }
        let error = await failure
        try await tell("release")
        #expect(try await responses.value == 1)
        try await close(session)
        return error
    }

    @Test func aTimeoutNamesTheLimit() async throws {
        let error = try await failureOfAWait(Timeouts(total: .seconds(30)), [.seconds(30)])
        let text = "carries as many requests as the server allows (1 each), and it is next"
        #expect(error?.detail?.hasSuffix(text) == true, "\(error?.detail ?? "none")")
    }

    /// The wait for a stream on a connection of others is no time of connecting.
    @Test func aWaitForAStreamIsNotLimitedByTheTimeToConnect() async throws {
        let timeouts = Timeouts(connect: .seconds(1), total: .seconds(30))
        let error = try await failureOfAWait(timeouts, [.seconds(2), .seconds(28)])
        #expect(error?.reason == .timedOut(.total), "\(error?.description ?? "none")")
    }

    /// Streams that were sent before the server's SETTINGS arrived, and were refused, teach the limit, so that none is refused too often.
    @Test(arguments: [1, 4])
    func refusedStreamsTeachTheLimit(_ perOrigin: Int) async throws {
        let session = session(perOrigin: perOrigin, monitor: nil, .tls)
        let request = Request(try peer.url("late", "/ok"), method: .post)
        let statuses = try await withThrowingTaskGroup { group in
            for _ in 0..<150 { group.addTask { try await session.data(request).1.status.code } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 150))
        try await close(session)
    }

    @Test func surplusConnectionsAreClosedWhenTheyAreIdle() async throws {
        let session = try await holding(limit: 2, perOrigin: 4)
        let room = 4 * 2
        let responses = try hold(room, session)
        _ = try await untilRequested(room)
        try await tell("release")
        #expect(try await responses.value == room)
        #expect(try await counts().open == 4)
        await session.settle()
        clock.move(by: .seconds(30))
        _ = try await session.data(request("/ok"))
        await session.settle()
        // The one connection that was used after half a minute is still open.
        clock.move(by: .seconds(30))
        while try await counts().open > 1 {}
        #expect(try await session.data(request("/ok")).1.metrics.isReusedConnection)
        #expect(try await counts().open == 1)
        try await close(session)
    }

    @Test func surplusConnectionsAreClosedWhileAStreamIsUsed() async throws {
        let session = try await holding(limit: 2, perOrigin: 4)
        let room = 4 * 2
        let responses = try hold(room, session)
        #expect(try await untilRequested(room).open == 4)
        for _ in 1..<room { try await tell("release one") }
        while await session.liveRequestCount > 1, !Task.isCancelled { await Task.yield() }
        await session.settle()
        clock.move(by: .seconds(40))
        while try await counts().open > 1 {}
        #expect(try await counts().requests == 1)
        try await tell("release")
        #expect(try await responses.value == room)
        try await close(session)
    }
}

/// Limits of concurrent streams, with a real server.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nghttpd"))
struct RealStreamLimitTests {
    @Test(arguments: [1, 2, 10])
    func manyRequestsUseFewConnections(_ limit: Int) async throws {
        let peer = try await Peer.realServers.value
        let session = peer.session { $0.limits.perOrigin = 4 }
        let request = Request(try peer.url("nghttpd-\(limit)", "/small")).withHTTPVersion(.http2)
        let responses = try await withThrowingTaskGroup { group in
            for _ in 0..<300 { group.addTask { try await session.data(request).1 } }
            return try await group.reduce(into: [Response]()) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0.status == .ok && $0.version == .http2 })
        // A server refuses the streams beyond its limit that are sent before its SETTINGS have arrived: its connection is kept.
        let added = responses.count { !$0.metrics.isReusedConnection }
        #expect(added <= 4, "\(added) new connections for 300 requests")
        await session.shutdown()
    }
}
