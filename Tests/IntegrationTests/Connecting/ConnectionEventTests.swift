import CurlEngine
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// The events of exchanges over sockets, in order, up to each moment at which an exchange can end.
@Suite(.timeLimit(.minutes(3)))
struct ConnectionEventTests {
    private let events = ConnectionEvents()

    private func session(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) rethrows -> Session {
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [events]
        try change(&configuration)
        return Session(configuration: configuration)
    }

    /// The words of an exchange that ends with its head.
    private static func exchange(_ connection: String..., sent: String = "sent") -> [String] {
        ["queued", "admitted"] + connection + [sent, "head 200"]
    }

    @Test func aNewConnectionAndAKeptOne() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = try session()
        for _ in 1...2 { _ = try await session.data(server.url()) }
        await session.shutdown()
        let address = "127.0.0.1:\(server.port)"
        let ends = ["ended kept", "finished 200"]
        #expect(
            events.words == ["created"] + Self.exchange("connecting \(address)", "connected") + ends
                + ["created"] + Self.exchange("kept") + ends)
        let (new, kept) = (events.connections[0], events.connections[1])
        #expect(new.peerAddress == address && new.version == .http1_1 && new.proxyURL == nil)
        #expect(!new.isSecure && !new.isShared && new.tls == .zero)
        #expect(kept.localPort == new.localPort && (new.localPort ?? 0) > 0)
        #expect(kept.peerAddress == address && kept.connect == .zero && kept.nameLookup == .zero)
        #expect("\(new)" == "connected to \(address) over HTTP/1.1")
        #expect("\(kept)" == "connected to \(address) over HTTP/1.1 on a kept connection")
    }

    @Test func aConnectionThatIsNotKept() async throws {
        let server = try LoopbackServer.http { _ in .init(200, headers: [("Connection", "close")]) }
        let session = try session()
        for _ in 1...2 { _ = try await session.data(server.url()) }
        await session.shutdown()
        #expect(events.words.count { $0 == "connected" } == 2 && events.words.count { $0 == "ended closed" } == 2)
    }

    /// A response whose length is unknown ends with its connection.
    @Test func aResponseThatEndsWithItsConnection() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n\r\nhello")
            connection.close()
        }
        let session = try session()
        #expect(try await session.string(server.url()) == "hello")
        await session.shutdown()
        #expect(events.words.suffix(3) == ["head 200", "ended closed", "finished 200"])
    }

    // MARK: Bodies of requests

    @Test func aBodyInMemory() async throws {
        let server = try LoopbackServer.http { .text("\($0.body.count)") }
        let session = try session()
        let body = noise(60_000)
        #expect(try await session.string(Request(server.url(), method: .post, body: .data(body))) == "60000")
        await session.shutdown()
        #expect(events.words[4...] == ["connected", "sent 60000", "head 200", "ended kept", "finished 200"])
    }

    @Test(arguments: [true, false])
    func aStreamedBody(_ hasLength: Bool) async throws {
        let server = try LoopbackServer.http { .text("\($0.body.count)") }
        let session = try session()
        let body = noise(3 << 20)
        let chunks: RequestBody =
            hasLength
            ? .data(body)
            : .stream {
                AsyncStream { continuation in
                    for start in stride(from: 0, to: body.count, by: 1 << 20) {
                        continuation.yield(body[start..<start + 1 << 20])
                    }
                    continuation.finish()
                }
            }
        #expect(try await session.string(Request(server.url(), method: .post, body: chunks)) == "\(3 << 20)")
        await session.shutdown()
        #expect(events.words[4...] == ["connected", "sent \(3 << 20)", "head 200", "ended kept", "finished 200"])
    }

    /// The server has read nothing of the body yet: its end is sent later.
    @Test func aResponseBeforeTheEndOfTheBody() async throws {
        let mayEnd = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            guard let head = try connection.readHead() else { return }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
            _ = try connection.readBody(of: head)
            try connection.write("k")
            connection.waitUntilPeerCloses()
        }
        let session = try session()
        let body = RequestBody.stream {
            AsyncStream<Data>(unfolding: {
                try? await mayEnd.opened()
                return nil
            })
        }
        let stream = try await session.stream(Request(server.url(), method: .post, body: body))
        try await events.wait(for: "finished 200")
        mayEnd.open()
        #expect(try await stream.chunks.collect(upTo: 10) == Data("ok".utf8))
        await session.shutdown()
        let end = events.words.suffix(5)
        #expect(end.prefix(3) == ["connected", "head 200", "finished 200"] && end.contains("sent"))
        #expect(end.contains { $0.hasPrefix("ended") })
    }

    @Test func aBodyThatTheServerDoesNotWant() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            connection.waitUntilPeerCloses()
        }
        let session = try session()
        let request = Request(server.url(), method: .post, body: .string("body"))
            .withContinueExpectation(waiting: .seconds(60))
        _ = try await session.data(request)
        await session.shutdown()
        #expect(events.words[4...] == ["connected", "head 403", "ended closed", "finished 403"])
    }

    @Test func aBodyThatWaitsForItsPermission() async throws {
        let server = try LoopbackServer { connection in
            guard let head = try connection.readHead() else { return }
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            _ = try connection.readBody(of: head)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            connection.waitUntilPeerCloses()
        }
        let session = try session()
        let request = Request(server.url(), method: .post, body: .string("body"))
            .withContinueExpectation(waiting: .seconds(60))
        _ = try await session.data(request)
        await session.shutdown()
        #expect(
            events.words[4...] == ["connected", "head 100", "sent 4", "head 200", "ended kept", "finished 200"])
    }

    // MARK: Failures

    @Test func aConnectionThatIsRefused() async throws {
        let port = try ClosedPort().port
        let session = try session()
        await expectFailure([.connect]) { try await session.data("http://127.0.0.1:\(port)/") }
        await session.shutdown()
        #expect(
            events.words == [
                "created", "queued", "admitted", "connecting 127.0.0.1:\(port)", "ended connect", "failed connect",
            ])
    }

    @Test func aServerThatDoesNotRespond() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readRequest()
            connection.close()
        }
        let session = try session()
        await expectFailure([.receive]) { try await session.data(Request(server.url(), method: .post)) }
        await session.shutdown()
        #expect(events.words[4...] == ["connected", "sent", "ended receive closed", "failed receive"])
    }

    /// The end of the connection waits for the request, so that the engine sees it in the turn in which it sends the request.
    @Test func aServerThatHasEndedItsSideBeforeTheRequest() async throws {
        let server = try LoopbackServer { connection in
            connection.shutdownWrite()
            _ = try connection.readRequest()
        }
        let session = try session()
        for _ in 1...20 {
            await expectFailure([.receive]) { try await session.data(Request(server.url(), method: .post)) }
        }
        await session.shutdown()
        let words = events.words
        #expect(words.count { $0 == "connected" } == words.count { $0 == "sent" })
        #expect(words.count { $0 == "failed receive" } == 20)
    }

    @Test func aResponseThatIsCutShort() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            connection.close()
        }
        let session = try session()
        await expectFailure([.truncatedBody]) { try await session.data(server.url()) }
        await session.shutdown()
        #expect(
            events.words[4...]
                == ["connected", "sent", "head 200", "ended truncated_body closed", "failed truncated_body"])
    }

    @Test(arguments: [false, true])
    func aCancelledRequest(_ hasHead: Bool) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readRequest()
            if hasHead { try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n") }
            connection.waitUntilPeerCloses()
        }
        let session = try session()
        let task = Task { try await session.data(server.url()) }
        try await events.wait(for: hasHead ? "head 200" : "sent")
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await session.shutdown()
        // After the head, the rest of the response may have arrived: then the connection is kept.
        let ends = hasHead ? ["head 200", "ended CancellationError"] : ["ended CancellationError closed"]
        #expect(Array(events.words[4...]) == ["connected", "sent"] + ends + ["failed CancellationError"])
    }

    /// The dead connection and the one that replaces it are both told.
    @Test func aKeptConnectionThatTurnsOutToBeDead() async throws {
        let server = try LoopbackServer { connection in
            var count = 0
            while try connection.nextRequest() != nil {
                count += 1
                if count == 2, connection.ordinal == 1 { return connection.close() }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let session = try session()
        for _ in 1...2 { _ = try await session.data(server.url()) }
        await session.shutdown()
        let second = events.words.drop { $0 != "finished 200" }.dropFirst()
        #expect(
            second.filter { $0 != "sent" } == [
                "created", "queued", "admitted", "kept", "connecting 127.0.0.1:\(server.port)", "connected",
                "head 200", "ended kept", "finished 200",
            ])
        #expect(second.suffix(4).first == "sent")
    }

    // MARK: Ways

    @Test func aProxy() async throws {
        let proxy = try LoopbackServer.http { _ in .text("from afar") }
        let session = try session { $0.proxy = try ProxyPeer.configuration(proxy).proxy }
        _ = try await session.data("http://origin.invalid/")
        await session.shutdown()
        #expect(
            events.words == ["created", "proxy"]
                + Self.exchange("connecting 127.0.0.1:\(proxy.port)", "connected") + ["ended kept", "finished 200"])
        #expect(events.connections[0].peerAddress == "127.0.0.1:\(proxy.port)")
        #expect(events.connections[0].proxyURL == "http://127.0.0.1:\(proxy.port)")
    }

    @Test(arguments: [true, false])
    func aSocket(_ isAbstract: Bool) async throws {
        let name = isAbstract ? "trellis-\(UUID().uuidString)" : try temporaryFolder("events") + "/socket"
        let server = try LoopbackServer.http(on: isAbstract ? .abstract(name: name) : .unix(path: name)) { _ in
            .text("hello")
        }
        let session = try session { $0.route.unixSocket = try isAbstract ? .abstract(name) : .path(name) }
        _ = try await session.data(server.url())
        await session.shutdown()
        #expect(events.words[3] == "connecting \(isAbstract ? "@" : "")\(name)")
        #expect(events.connections[0].peerAddress == (isAbstract ? nil : name))
        #expect(events.connections[0].localPort == nil)
    }

    /// Both requests need the name, whose addresses are known for the third one.
    @Test func aResolver() async throws {
        struct Fixed: NameResolver {
            func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
                try ResolvedAddresses(["127.0.0.1"], timeToLive: .seconds(60))
            }
        }
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = session { $0.resolver = Fixed() }
        for _ in 1...2 { _ = try await session.data("http://far.invalid:\(server.port)/") }
        await session.shutdown()
        #expect(
            events.words.prefix(6) == [
                "created", "looking up far.invalid", "looked up far.invalid", "queued", "admitted",
                "connecting 127.0.0.1:\(server.port)",
            ])
        #expect(events.words.count { $0.hasPrefix("look") } == 2)
    }

    @Test func aWebSocket() async throws {
        let server = try WebSocketServer()
        let session = try session()
        let socket = try await session.webSocket(server.url(scheme: "ws"))
        try await socket.close()
        try await server.server.waitUntilAllClosed()
        await session.shutdown()
        #expect(
            events.words.prefix(6) == [
                "created", "queued", "admitted", "connecting 127.0.0.1:\(server.server.port)", "connected", "sent",
            ])
        #expect(events.words[6] == "head 101" && events.words.contains { $0.hasPrefix("ended") })
    }

    /// The monitor of one request, in a session without others.
    @Test func aMonitorOfOneRequest() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Session()
        for isMonitored in [false, true, false] {
            let request = Request(server.url())
            _ = try await session.data(isMonitored ? request.withEventMonitor(events) : request)
        }
        await session.shutdown()
        #expect(events.words == ["created"] + Self.exchange("kept") + ["ended kept", "finished 200"])
    }
}
