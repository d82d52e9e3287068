import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Refreshes that send their requests through the session of the calls that wait for them.
@Suite(.timeLimit(.minutes(3)))
struct RefreshSessionTests {
    /// An authenticator whose refresh is a closure.
    private struct Renewing: Authenticator {
        let renew: @Sendable (RefreshSession) async throws -> Token

        func apply(_ credential: Token, to request: inout Request) {
            request = request.withAuthorization(bearerToken: credential.text)
        }

        func refresh(_ credential: Token, using session: RefreshSession) async throws -> Token {
            try await renew(session)
        }
    }

    private static func interceptor(
        requiresRefresh: Bool = false, _ renew: @escaping @Sendable (RefreshSession) async throws -> Token
    ) -> AuthenticationInterceptor<Renewing> {
        AuthenticationInterceptor(
            authenticator: Renewing(renew: renew), credential: Token("old", requiresRefresh: requiresRefresh))
    }

    /// Returns the token in the text of the response to a `POST`.
    @Sendable private static func token(_ session: RefreshSession) async throws -> Token {
        let (data, _) = try await session.data(Request("http://a.example/token", method: .post))
        return Token(String(decoding: data, as: UTF8.self))
    }

    /// Returns a server that issues `token-1` and accepts no other token.
    private static func server() -> MockTransport {
        MockTransport { request in
            switch request.request.headers[.authorization] {
            case nil: .text("token-1")
            case "Bearer token-1": .text("yes")
            default: MockResponse(status: 401, headers: [.setCookie: "visit=1"])
            }
        }
    }

    private static func configuration(_ change: (inout SessionConfiguration) -> Void) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        change(&configuration)
        return configuration
    }

    private static func get(_ session: Session) async throws -> String {
        let (data, response) = try await session.data("http://a.example/")
        return response.status == .ok ? String(decoding: data, as: UTF8.self) : "\(response.status.code)"
    }

    @Test(arguments: [true, false])
    func theTokenComesThroughTheSession(requiresRefresh: Bool) async throws {
        let transport = Self.server()
        let configuration = Self.configuration {
            $0.steps.intercept(with: Self.interceptor(requiresRefresh: requiresRefresh, Self.token))
        }
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await Self.get(session) == "yes")
        let tokens = transport.requests.filter { $0.request.method == .post }
        #expect(tokens.map { $0.request.headers[.authorization] } == [nil])
        #expect(transport.requests.last?.request.headers[.authorization] == "Bearer token-1")
    }

    /// A request of the refresh that equals the waiting request does not join it: the request would wait for itself.
    @Test func theRequestDoesNotJoinTheCallThatWaitsForIt() async throws {
        let adapted = Locked(0)
        let asked = Locked(0)
        let configuration = Self.configuration {
            $0.steps.application = [RequestCoalescing()]
            $0.steps.intercept(
                with: Self.interceptor { session in
                    Token(String(decoding: try await session.data("http://a.example/").0, as: UTF8.self))
                })
            $0.steps.adapters.append(
                Adapter { request, _ in
                    adapted.withLock { $0 += 1 }
                    return request
                })
            $0.steps.retriers.append(
                Retrier { _, _ in
                    asked.withLock { $0 += 1 }
                    return .doNotRetry
                })
        }
        let transport = Self.server()
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await Self.get(session) == "yes")
        #expect(transport.startedCount == 3)
        // The two attempts of the call; the interceptor handled the refusal.
        #expect(adapted.withLock { $0 } == 2)
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func aRefusalOfTheRequestIsTheRefreshsConcern() async throws {
        let refreshes = Locked(0)
        let configuration = Self.configuration {
            $0.steps.intercept(
                with: Self.interceptor { session in
                    refreshes.withLock { $0 += 1 }
                    let request = Request("http://a.example/token").withAuthorization(bearerToken: "wrong")
                    return Token("status \(try await session.data(request).1.status.code)")
                })
        }
        let session = Session(configuration: configuration, transport: Self.server())
        #expect(try await Self.get(session) == "401")
        #expect(refreshes.withLock { $0 } == 1)
    }

    @Test func cookiesAndStepsOfTheRequestItselfStay() async throws {
        let transport = Self.server()
        let configuration = Self.configuration {
            $0.steps.cookies = CookieJar()
            $0.steps.intercept(
                with: Self.interceptor { session in
                    let own = Adapter { request, _ in request.withHeader(.accept, "text/token") }
                    let request = Request("http://a.example/token", method: .post).withAdapter(own)
                    return Token(String(decoding: try await session.data(request).0, as: UTF8.self))
                })
        }
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await Self.get(session) == "yes")
        let token = try #require(transport.requests.first { $0.request.method == .post })
        #expect(token.request.headers[.cookie] == "visit=1")
        #expect(token.request.headers[.accept] == "text/token")
    }

    @Test func aValueIsDecodedAfterAValidation() async throws {
        struct Reply: Decodable { let token: String }
        let router = MockRouter()
        let token = #"{"token": "token-1"}"#
        router.route(.get, "/token").then(.json(token, status: 503)).then(.json(token))
        router.route(.get, "/", .header("Authorization", "Bearer token-1")).respond(with: .text("yes"))
        router.route(.get, "/").respond(with: MockResponse(status: 401))
        let configuration = Self.configuration {
            $0.steps.intercept(
                with: Self.interceptor { session in
                    Token(try await session.decode(Reply.self, from: "http://a.example/token").token)
                })
        }
        let session = Session(configuration: configuration, transport: router)
        let error = await #expect(throws: TrellisError.self) { try await Self.get(session) }
        #expect(error?.kind == .unacceptableStatus)
        #expect(error?.response?.status.code == 503)
        #expect(try await Self.get(session) == "yes")
        try router.verify()
    }

    /// A refused stream does not keep the connection slot that the request of the refresh waits for.
    @Test func aRefusedStreamLeavesItsSlotToTheRefresh() async throws {
        let never = LoopbackServer.Gate()
        let transport = MockTransport { request in
            switch request.request.headers[.authorization] {
            case nil: .text("token-1")
            case "Bearer token-1": .text("yes")
            default:
                MockResponse(status: 401, headers: [.contentLength: "1000000"]) { writer in
                    try await writer.write("no")
                    try await never.opened()
                }
            }
        }
        let configuration = Self.configuration {
            $0.limits.perOrigin = 1
            $0.steps.intercept(with: Self.interceptor(Self.token))
        }
        let session = Session(configuration: configuration, transport: transport)
        let response = try await session.stream("http://a.example/")
        #expect(response.response.status == .ok)
        #expect(try await response.chunks.collect(upTo: 100) == Data("yes".utf8))
        never.open()
    }

    @Test func anAuthenticatorIsTestedWithoutASession() async throws {
        let asked = Locked<[String]>([])
        let session = RefreshSession { request in
            asked.withLock { $0.append(request.url) }
            let head = ResponseHead(status: .ok, headers: [.contentType: "application/json"])
            return (Data("[7]".utf8), Response(head: head, url: request.url))
        }
        #expect(try await Self.token(session) == Token("[7]"))
        #expect(try await session.decode([Int].self, from: "http://a.example/numbers") == [7])
        #expect(asked.withLock { $0 } == ["http://a.example/token", "http://a.example/numbers"])
    }

    // MARK: The end of the session

    @Test func aRefreshThatACallWaitsForGoesOutWhileTheSessionDrains() async throws {
        let gate = LoopbackServer.Gate(), begun = LoopbackServer.Gate()
        let interceptor = Self.interceptor(requiresRefresh: true) { session in
            begun.open()
            try await gate.opened()
            return try await Self.token(session)
        }
        let scripted = Scripted { $0.steps.intercept(with: interceptor) }
        let task = outcome { [session = scripted.session] in try await Self.get(session) }
        try await begun.opened()
        async let end: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        gate.open()
        let first = try await scripted.transport.nextAttempt()
        #expect(first.request.url == "http://a.example/token")
        first.respond("token-1")
        let second = try await scripted.transport.nextAttempt()
        #expect(second.request.request.headers[.authorization] == "Bearer token-1")
        second.respond("in time")
        #expect(await task.value == .answer("in time"))
        await end
    }

    @Test func afterTheDrainARefreshSendsNothing() async throws {
        let gate = LoopbackServer.Gate(), begun = LoopbackServer.Gate(), ended = LoopbackServer.Gate()
        let failure = Locked<TrellisError.Reason?>(nil)
        let interceptor = Self.interceptor(requiresRefresh: true) { session in
            begun.open()
            try await gate.opened()
            defer { ended.open() }
            do {
                return try await Self.token(session)
            } catch let error as TrellisError {
                failure.withLock { $0 = error.reason }
                throw error
            }
        }
        let scripted = Scripted { $0.steps.intercept(with: interceptor) }
        let task = outcome { [session = scripted.session] in try await Self.get(session) }
        try await begun.opened()
        await scripted.session.shutdown()
        #expect(await task.value == .failed(.cancelled(.sessionShutDown)))
        gate.open()
        try await ended.opened()
        #expect(failure.withLock { $0 } == .cancelled(.sessionShutDown))
        #expect(scripted.transport.attempts.isEmpty)
    }

    /// The calls of other sessions that share the interceptor begin the refresh again, with a session of theirs.
    @Test func theEndOfASessionDoesNotFailTheCallsOfAnother() async throws {
        let interceptor = Self.interceptor(requiresRefresh: true, Self.token)
        let first = Scripted { $0.steps.intercept(with: interceptor) }
        let second = Scripted { $0.steps.intercept(with: interceptor) }
        let ending = outcome { [session = first.session] in try await Self.get(session) }
        _ = try await first.transport.nextAttempt()
        let staying = outcome { [session = second.session] in try await Self.get(session) }
        while await second.session.liveRequests.isEmpty, !Task.isCancelled { await second.session.settle() }
        await first.session.shutdown()
        #expect(await ending.value == .failed(.cancelled(.sessionShutDown)))
        let token = try await second.transport.nextAttempt()
        #expect(token.request.url == "http://a.example/token")
        token.respond("token-1")
        let request = try await second.transport.nextAttempt()
        #expect(request.request.request.headers[.authorization] == "Bearer token-1")
        request.respond("yes")
        #expect(await staying.value == .answer("yes"))
    }
}
