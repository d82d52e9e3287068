import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis

/// The servers of several makers serve the same list over HTTP/2.
@Suite(.timeLimit(.minutes(5)), .serialized, .requiresPeers)
struct HTTP2ServersTests {
    /// An item of the list.
    enum Item: CaseIterable {
        case get, post, trailers, informational, early, streams, goAway
    }

    enum Server: String, CaseIterable {
        // These are in Debian's packages and the Python peers.
        case nginx, nghttpd, caddy, hypercorn
        // These are among the large cases.
        case go, node

        var isInstalled: Bool {
            switch self {
            case .hypercorn: true
            case .go, .node: Scale.isFull && Peer.isInstalled(rawValue)
            case .nginx, .nghttpd, .caddy: Peer.isInstalled(rawValue)
            }
        }

        /// What the server cannot do, each with the reason.
        var lacks: [Item: String] {
            switch self {
            case .nginx: [.informational: "nginx sends 103 from version 1.29 on"]
            case .nghttpd:
                [
                    .informational: "nghttpd sends 100 alone, to requests with Expect",
                    .goAway: "nghttpd sends GOAWAY when it ends, and not before",
                ]
            case .caddy, .go, .hypercorn, .node: [:]
            }
        }

        /// Whether some responses of many streams are never sent: the scheduler of frames in Go 1.19, with which Debian's caddy is built,
        /// loses them (golang/go issue 42534).
        var losesResponses: Bool { self == .caddy || self == .go }

        /// Whether the server, when it leaves, also ends streams that it has taken: hypercorn 0.18 closes the connection as soon as another
        /// frame comes. Of a large burst, it may answer no request at all.
        var losesTakenStreams: Bool { self == .hypercorn }

        /// The port for an item.
        func port(for item: Item) -> String {
            switch (self, item) {
            case (.nginx, .goAway), (.hypercorn, .goAway): "\(rawValue)-away"
            case (.nghttpd, .early): "nghttpd-early"
            default: rawValue
            }
        }

        /// The path for an item.
        func path(for item: Item) -> String {
            if self == .nghttpd { return "/small" }
            return switch item {
            case .get, .streams: "/small"
            case .post: "/sink"
            case .trailers: "/trailers"
            case .informational: "/hints"
            case .early: "/early"
            case .goAway: self == .nginx || self == .hypercorn ? "/small" : "/away"
            }
        }
    }

    /// The servers that can do each item.
    static func servers(_ item: Item) -> [Server] {
        Server.allCases.filter { $0.isInstalled && $0.lacks[item] == nil }
    }

    private static let started = Task {
        try await Peer.startedOnce("http2_servers.py", [Server.go, .node].filter(\.isInstalled).map(\.rawValue))
    }

    private static let bodySize = 50_000_000

    private let peer: Peer
    private let session: Session

    init() async throws {
        peer = try await Self.started.value
        session = peer.session { $0.httpVersion = .http2 }
    }

    private func url(_ server: Server, _ item: Item) throws -> String {
        try peer.url(server.port(for: item), server.path(for: item))
    }

    private func check(_ text: String, _ response: Response, equals expected: String = "hello world") {
        #expect(text == expected)
        #expect(response.status == .ok && response.version == .http2)
    }

    @Test(arguments: servers(.get))
    func get(_ server: Server) async throws {
        for _ in 1...3 {
            let (data, response) = try await session.data(url(server, .get))
            check(String(decoding: data, as: UTF8.self), response)
        }
        await session.shutdown()
    }

    @Test(arguments: servers(.post), [true, false])
    func postOf50MB(_ server: Server, inMemory: Bool) async throws {
        let body: RequestBody = inMemory ? .data(Data(count: Self.bodySize)) : .stream(Self.pieces)
        let (data, response) = try await session.data(Request(url(server, .post), method: .post, body: body))
        // nghttpd reads the body, and responds with its file.
        let expected = server == .nghttpd ? "hello world" : "\(Self.bodySize)"
        check(String(decoding: data, as: UTF8.self), response, equals: expected)
        await session.shutdown()
    }

    @Test(arguments: servers(.trailers))
    func trailers(_ server: Server) async throws {
        let request = Request(try url(server, .trailers), headers: [.te: "trailers"])
        let (data, response) = try await session.data(request)
        check(String(decoding: data, as: UTF8.self), response)
        #expect(response.trailers[try #require(HTTPField.Name("x-sum"))] == "42")
        await session.shutdown()
    }

    @Test(arguments: servers(.informational))
    func informational(_ server: Server) async throws {
        let (data, response) = try await session.data(url(server, .informational))
        check(String(decoding: data, as: UTF8.self), response)
        #expect(response.informational.map(\.status.code) == [103])
        let link = try #require(HTTPField.Name("link"))
        #expect(response.informational.first?.headers[link] == "</style.css>")
        await session.shutdown()
    }

    /// The server responds before it has the body, most of which it does not read.
    @Test(arguments: servers(.early), [true, false])
    func earlyAnswer(_ server: Server, inMemory: Bool) async throws {
        let body: RequestBody = inMemory ? .data(Data(count: Self.bodySize)) : .stream(Self.pieces)
        let (data, response) = try await session.data(Request(url(server, .early), method: .post, body: body))
        #expect(response.status == (server == .nghttpd ? .ok : .contentTooLarge))
        #expect(String(decoding: data, as: UTF8.self) == (server == .nghttpd ? "hello world" : "enough"))
        // The connection, or another one, takes the next request.
        #expect(try await session.string(url(server, .get)) == "hello world")
        await session.shutdown()
    }

    @Test(arguments: servers(.streams))
    func aThousandStreams(_ server: Server) async throws {
        var request = Request(try url(server, .streams))
        if server.losesResponses {
            request.timeouts = Self.patience
            request = request.withInterceptor(Self.retries)
        }
        let (sent, session) = (request, session)
        let responses = try await withThrowingTaskGroup(of: Response.self) { group in
            for _ in 0..<1000 {
                group.addTask {
                    let (data, response) = try await session.data(sent)
                    #expect(String(decoding: data, as: UTF8.self) == "hello world")
                    return response
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0.status == .ok && $0.version == .http2 })
        // Each of few connections carries many.
        if !server.losesResponses { #expect(responses.count { !$0.metrics.isReusedConnection } <= 4) }
        await session.shutdown()
    }

    /// The server leaves again and again, in the middle of a burst and between requests. All requests get their responses.
    @Test(arguments: servers(.goAway))
    func goAwayInTheMiddle(_ server: Server) async throws {
        var away = Request(try url(server, .goAway)), small = Request(try peer.url(server.port(for: .goAway), "/small"))
        var session = session
        if server.losesTakenStreams {
            (away, small) = (away.withInterceptor(Self.retries), small.withInterceptor(Self.retries))
            await session.shutdown()
            session = peer.session {
                $0.httpVersion = .http2
                $0.limits.requestsPerOrigin = 8
            }
        }
        if server.losesResponses {
            (away.timeouts, small.timeouts) = (Self.patience, Self.patience)
            (away, small) = (away.withRetrier(Self.secondTries), small.withRetrier(Self.secondTries))
        }
        let requests = [away, small], shared = session
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<200 {
                group.addTask { try await shared.string(requests[number % 20 == 19 ? 0 : 1]) }
            }
            for try await text in group { #expect(text == "hello world") }
        }
        var connections = 0
        for number in 0..<60 where connections < 2 {
            let (data, response) = try await session.data(requests[number % 2])
            check(String(decoding: data, as: UTF8.self), response)
            if !response.metrics.isReusedConnection { connections += 1 }
        }
        #expect(connections == 2)
        await session.shutdown()
    }

    /// Without a budget: a server may lose as many requests as it likes.
    private static let retries = RetryPolicy(
        retryLimit: 10, exponentialBackoffScale: .milliseconds(1), budget: nil)
    /// The time after which a response is lost.
    private static let patience = Timeouts(responseHead: .seconds(30), idle: .seconds(30))
    /// Sends a request again whose response is lost, and no other one.
    private static let secondTries = Retrier { attempt, context in
        (attempt.error as? TrellisError)?.isTimeout == true && context.attempt <= 10 ? .retry : .doNotRetry
    }

    /// Returns a body of ``bodySize`` bytes in pieces.
    private static var pieces: AsyncStream<Data> {
        let piece = Data(count: 100_000), left = Locked(bodySize / piece.count)
        return AsyncStream {
            left.withLock { left in
                left -= 1
                return left >= 0 ? piece : nil
            }
        }
    }
}
