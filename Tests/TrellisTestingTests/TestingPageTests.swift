import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

private struct User: Decodable, Sendable { var name: String }

/// A client whose transport tests can replace, as on the page Testing.
private struct Client: Sendable {
    let session: Session

    init(
        baseURL: String = "https://api.example.com/v2/", retry: RetryPolicy = RetryPolicy(),
        transport: (any Transport)? = nil, clock: (any Clock<Duration>)? = nil
    ) {
        var configuration = SessionConfiguration()
        configuration.baseURL = baseURL
        configuration.defaultHeaders["X-API-Key"] = "abc"
        configuration.retry = retry
        configuration.authentication = .interceptor(
            AuthenticationInterceptor(authenticator: OAuth(), credential: Tokens(access: "a")))
        session = Session(configuration: configuration, transport: transport, clock: clock)
    }

    func user(_ id: Int) async throws -> User { try await session.decode(User.self, from: "users/\(id)") }
}

/// The tests that the page Testing shows, under the names that they have there.
@Suite(.timeLimit(.minutes(3)))
struct TestingPageTests {
    @Test func aUserIsRequested() async throws {
        let transport = MockTransport { _ in .json(#"{"name":"Ada"}"#) }
        #expect(try await Client(transport: transport).user(7).name == "Ada")
        let request = try #require(transport.requests.first)
        #expect(request.method == .get)
        #expect(request.url == "https://api.example.com/v2/users/7")
        #expect(request["Authorization"] == "Bearer a")
        #expect(request.headers["X-API-Key"] == "abc")
    }

    @Test func aRefusedTokenIsRefreshed() async throws {
        let transport = MockTransport { request in
            switch (request.path, request["Authorization"]) {
            case ("/v2/token", _): .json(#"{"access":"b"}"#)
            case (_, "Bearer b"): .json(#"{"name":"Ada"}"#)
            default: MockResponse(status: 401)
            }
        }
        #expect(try await Client(transport: transport).user(7).name == "Ada")
        let requests = transport.requests.map { "\($0.method) \($0.path)" }
        #expect(requests == ["GET /v2/users/7", "POST /v2/token", "GET /v2/users/7"])
    }

    @Test func aServerThatFailsIsAskedAgain() async throws {
        let transport = MockTransport { _ in MockResponse(status: 503) }
        var retry = RetryPolicy(retryLimit: 3)
        retry.exponentialBackoffScale = .zero
        let client = Client(retry: retry, transport: transport)
        let error = await #expect(throws: TrellisError.self) { try await client.user(7) }
        #expect(error?.kind == .unacceptableStatus)
        #expect(transport.startedCount == 4)
    }

    @Test func aSilentServerEndsInATimeout() async throws {
        let clock = TestClock()
        let transport = ScriptedTransport(clock: clock)
        let session = Session(transport: transport, clock: clock)
        let call = Task { try await session.data("http://example.com/", timeout: .seconds(5)).0 }
        _ = try await transport.nextAttempt()
        await clock.advance(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.isTimeout == true)
    }

    @Test func aBusyServerIsAskedAgainWhenItSaid() async throws {
        let clock = TestClock()
        let busy = MockResponse(status: 503, headers: ["Retry-After": "2"])
        let transport = MockTransport(responses: [busy, .json(#"{"name":"Ada"}"#)])
        let client = Client(transport: transport, clock: clock)
        let call = Task { try await client.user(7) }
        await clock.waitForSleepers()
        await clock.advance(by: .seconds(3))  // the two seconds, and a random part of the backoff
        #expect(try await call.value.name == "Ada")
    }

    @Test func aBodyArrivesInPieces() async throws {
        let transport = ScriptedTransport()
        let session = Session(transport: transport)
        let call = Task { try await session.string("http://example.com/") }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: 200)
        attempt.receiveBody("hel")
        attempt.receiveBody("lo")
        attempt.end()
        #expect(try await call.value == "hello")
    }

    @Test func aUserIsRequestedOverASocket() async throws {
        let server = try LoopbackServer.http { request in
            request.path == "/v2/users/7" ? .json(#"{"name":"Ada"}"#) : .init(404)
        }
        #expect(try await Client(baseURL: server.url("/v2/")).user(7).name == "Ada")
        let request = try #require(server.requests.first)
        #expect(request.method == "GET")
        #expect(request.url == server.url("/v2/users/7"))
        #expect(request["Authorization"] == "Bearer a")
    }

    @Test func aConversationIsHeld() async throws {
        let server = try LoopbackServer.webSocket { peer in
            while let message = try peer.receive() { try peer.send("you said: \(message.text ?? "")") }
        }
        let session = Session()
        let reply = try await session.withWebSocket(server.url(scheme: "ws")) { socket in
            try await socket.send("hello")
            return try await socket.receive()
        }
        #expect(reply == .text("you said: hello"))
    }

    @Test func aServerThatIsBusyIsRecognized() async throws {
        let server = try LoopbackServer.webSocket { peer in try peer.close(code: .tryAgainLater, reason: "later") }
        let session = Session()
        let error = await #expect(throws: TrellisError.self) {
            try await session.withWebSocket(server.url(scheme: "ws")) { socket in try await socket.receive() }
        }
        #expect(error?.reason == .webSocketFailed(.closed(code: .tryAgainLater, reason: "later")))
    }
}
