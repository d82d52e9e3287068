import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// The requests of a session with two engines over HTTP/3 to caddy, which allows 100 requests at once on one connection, and passes them
/// on to a server that holds its responses.
@Suite(
    .timeLimit(.minutes(3)), .serialized, .requiresPeers, .requires("caddy"),
    .enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3"))
struct HTTP3SharingTests {
    private static let limit = 100

    private let peer: Peer
    private let gate = LoopbackServer.Gate()
    private let server: LoopbackServer

    init() async throws {
        peer = try await Peer.realServers.value
        server = try SeveralEnginesTests.server { [gate] _ in gate }
    }

    private func session(perOrigin: Int) -> Session {
        SeveralEnginesTests.session(.fixed(2), perOrigin: perOrigin) { [peer] in
            $0.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
            $0.httpVersion = .http3Only
        }
    }

    /// Starts requests whose responses are held.
    private func start(_ count: Int, _ session: Session) throws -> [Task<Response, any Error>] {
        let url = try peer.url("caddy", "/switch/\(server.port)/hold")
        return (0..<count).map { _ in Task { try await session.data(url).1 } }
    }

    /// Lets the server send its responses. Returns the number of connections that were made for the requests.
    private func end(_ tasks: [Task<Response, any Error>]) async throws -> Int {
        gate.open()
        var connections = 0
        for task in tasks {
            let response = try await task.value
            #expect(response.status == .ok && response.version == .http3)
            if !response.metrics.isReusedConnection { connections += 1 }
        }
        return connections
    }

    private func requestCounts(_ session: Session) -> [Int] { session.engineStatistics.map(\.requestCount).sorted() }

    @Test func requestsStayOnOneEngine() async throws {
        let session = session(perOrigin: 2)
        var tasks = try start(50, session)
        try await server.waitUntilRequested(count: 50)
        #expect(requestCounts(session) == [0, 50])
        tasks += try start(50, session)
        try await server.waitUntilRequested(count: Self.limit)
        #expect(requestCounts(session) == [0, Self.limit])
        tasks += try start(1, session)
        try await server.waitUntilRequested(count: Self.limit + 1)
        #expect(requestCounts(session) == [0, Self.limit + 1])
        #expect(try await end(tasks) == 2)
        await session.shutdown()
    }

    /// The requests that find no room wait, also those of the other engine.
    @Test func theLimitOfAnOriginHoldsForBothEngines() async throws {
        let session = session(perOrigin: 1)
        var tasks = try start(Self.limit + 20, session)
        try await server.waitUntilRequested(count: Self.limit)
        let url = try peer.url("caddy", "/switch/\(server.port)/hold")
        for engine in 0..<2 {
            tasks.append(SeveralEnginesTests.onEngine(engine, of: session) { try await session.data(url).1 })
        }
        await SeveralEnginesTests.waitUntilLive(session, count: tasks.count)
        #expect(requestCounts(session) == [0, Self.limit])
        #expect(server.requests.count == Self.limit)
        #expect(try await end(tasks) == 1)
        #expect(requestCounts(session) == [0, tasks.count])
        await session.shutdown()
    }

    /// The tasks prefer two engines, and the limit has room for a connection on each. An origin whose requests share connections has one
    /// engine.
    @Test func tasksOfTwoEnginesShareAConnection() async throws {
        let session = session(perOrigin: 2)
        let url = try peer.url("caddy", "/small")
        // Before the first connection, it is not known that requests share it.
        _ = try await session.data(url)
        let tasks = (0..<40).map { number in
            SeveralEnginesTests.onEngine(number % 2, of: session) {
                var connections = 0
                for _ in 0..<10 {
                    let response = try await session.data(url).1
                    if !response.metrics.isReusedConnection { connections += 1 }
                }
                return connections
            }
        }
        var connections = 0
        for task in tasks { connections += try await task.value }
        #expect(connections == 0)
        #expect(requestCounts(session) == [0, 401])
        await session.shutdown()
    }
}
