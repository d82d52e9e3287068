import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Requests with a credential that is refreshed, over a session.
@Suite(.timeLimit(.minutes(3)))
struct AuthenticationInterceptorTests {
    @Test func theCredentialGoesOut() async throws {
        let world = TokenWorld(accepting: ["good"], credential: Token("good"))
        #expect(try await world.get() == "good")
        #expect(world.authenticator.refreshes == 0)
    }

    /// The attempt with the renewed credential is no retry of the policy, whichever of them is asked first.
    @Test(arguments: [true, false])
    func aRefreshCostsNoRetry(_ isPolicyFirst: Bool) async throws {
        let transport = MockTransport { request in
            let isRenewed = request.request.headers[.authorization] == "Bearer token-1"
            return MockResponse(status: isRenewed ? 503 : 401)
        }
        let interceptor = AuthenticationInterceptor(authenticator: TokenAuthenticator(), credential: Token("old"))
        var configuration = SessionConfiguration()
        if !isPolicyFirst { configuration.authentication = .interceptor(interceptor) }
        configuration.retry = RetryPolicy(retryLimit: 3, exponentialBackoffScale: .zero)
        if isPolicyFirst { configuration.authentication = .interceptor(interceptor) }
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await session.data("http://a.example/").1.status.code == 503)
        #expect(transport.startedCount == 5)
        #expect(try await session.data("http://a.example/").1.status.code == 503)
        #expect(transport.startedCount == 9)
    }

    /// An application step that sends two requests for its call.
    private struct Twice: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            _ = try await next(request)
            return try await next(request)
        }
    }

    @Test func aRefreshOfAnEarlierRequestOfTheCallAddsNoRetry() async throws {
        let count = Locked(0)
        let transport = MockTransport { request in
            guard request.request.headers[.authorization] == "Bearer token-1" else { return MockResponse(status: 401) }
            let number = count.withLock { count in
                count += 1
                return count
            }
            return MockResponse(status: number == 1 ? 200 : 503)
        }
        var configuration = SessionConfiguration()
        configuration.authentication = .interceptor(
            AuthenticationInterceptor(authenticator: TokenAuthenticator(), credential: Token("old")))
        configuration.retry = RetryPolicy(retryLimit: 2, exponentialBackoffScale: .zero)
        configuration.steps.application.append(Twice())
        let session = Session(configuration: configuration, transport: transport)
        #expect(try await session.data("http://a.example/").1.status.code == 503)
        // Refused, accepted, and then one request with two retries.
        #expect(transport.startedCount == 2 + 3)
    }

    @Test func noCredentialIsAnError() async throws {
        let world = TokenWorld(accepting: ["good"], credential: nil)
        await #expect(throws: AuthenticationError.missingCredential) { try await world.get() }
        #expect(world.transport.startedCount == 0)
        world.interceptor.credential = Token("good")
        #expect(try await world.get() == "good")
    }

    @Test func aHundredRefusalsAreOneRefresh() async throws {
        let gate = LoopbackServer.Gate()
        let world = TokenWorld(accepting: ["token-1"], credential: Token("old")) {
            try await gate.opened()
            return Token("token-\($0)")
        }
        let answers = (0..<100).map { index in Task { try await world.get("\(index)") } }
        try await world.transport.waitUntilRequested(count: 1)
        await world.session.settle()
        gate.open()
        for answer in answers { #expect(try await answer.value == "token-1") }
        #expect(world.authenticator.refreshes == 1)
        #expect(world.interceptor.credential == Token("token-1"))
    }

    @Test func callsThatBeginDuringARefreshGoOutWithTheNewCredential() async throws {
        let gate = LoopbackServer.Gate(), begun = LoopbackServer.Gate()
        let world = TokenWorld(accepting: ["token-1"], credential: Token("old", requiresRefresh: true)) {
            begun.open()
            try await gate.opened()
            return Token("token-\($0)")
        }
        let first = Task { try await world.get() }
        try await begun.opened()
        let others = (0..<10).map { _ in Task { try await world.get() } }
        await world.session.settle()
        gate.open()
        #expect(try await first.value == "token-1")
        for other in others { #expect(try await other.value == "token-1") }
        // The server has refused no request.
        #expect(world.transport.startedCount == 11)
        #expect(world.authenticator.refreshes == 1)
    }

    @Test func aCallThatIsRefusedWithANewCredentialGetsTheAnswer() async throws {
        let world = TokenWorld(accepting: [], credential: Token("old"))
        #expect(try await world.get() == "401")
        #expect(world.transport.startedCount == 2)
        #expect(world.authenticator.refreshes == 1)
    }

    @Test func otherAnswersAreNobodysBusiness() async throws {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token("good"))
        let session = Session(transport: MockTransport { _ in MockResponse(status: 403) })
        let (_, response) = try await session.data(Request("http://a.example/").withInterceptor(interceptor))
        #expect(response.status.code == 403)
        #expect(authenticator.refreshes == 0)
    }

    @Test func aFailedRefreshFailsItsCallsOnceAndLaterOnesTryAgain() async throws {
        let world = TokenWorld(accepting: ["token-2"], credential: Token("old")) {
            if $0 == 1 { throw TokenWorld.RefreshFailed() }
            return Token("token-\($0)")
        }
        await #expect(throws: TokenWorld.RefreshFailed()) { try await world.get() }
        #expect(world.authenticator.refreshes == 1)
        #expect(world.interceptor.credential == Token("old"))
        #expect(try await world.get() == "token-2")
        #expect(world.authenticator.refreshes == 2)
    }

    @Test func aRefusalBehindAFailedRefreshDoesNotBeginAnother() async throws {
        let slow = LoopbackServer.Gate()
        let transport = MockTransport { request in
            if request.url.hasSuffix("/slow") { try await slow.opened() }
            return MockResponse(status: 401)
        }
        let authenticator = TokenAuthenticator { _ in throw TokenWorld.RefreshFailed() }
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token("old"))
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: interceptor)
        let session = Session(configuration: configuration, transport: transport)
        let late = Task { try await session.data("http://a.example/slow") }
        try await transport.waitUntilRequested(count: 1)
        await #expect(throws: TokenWorld.RefreshFailed()) { try await session.data("http://a.example/") }
        slow.open()
        await #expect(throws: TokenWorld.RefreshFailed()) { try await late.value }
        #expect(authenticator.refreshes == 1)
    }

    /// The number of a handle's call is that of its creation, long before the call is sent.
    @Test func aHandleThatStartsAfterAFailedRefreshBeginsAnother() async throws {
        let world = TokenWorld(accepting: ["token-2"], credential: Token("old")) {
            if $0 == 1 { throw TokenWorld.RefreshFailed() }
            return Token("token-\($0)")
        }
        let early = world.session.request("http://a.example/early")
        await #expect(throws: TokenWorld.RefreshFailed()) { try await world.get() }
        #expect(try await early.response(of: .data).status == .ok)
        #expect(world.authenticator.refreshes == 2)
    }

    @Test func refreshesAreCountedOnTheClock() async throws {
        let world = TokenWorld(
            accepting: [], credential: Token("old"), window: RefreshWindow(interval: .seconds(30), maximumAttempts: 2))
        #expect(try await world.get() == "401")
        #expect(try await world.get() == "401")
        await #expect(throws: AuthenticationError.excessiveRefresh) { try await world.get() }
        world.clock.move(by: .seconds(31))
        #expect(try await world.get() == "401")
        #expect(world.authenticator.refreshes == 3)
    }

    @Test func theDefaultWindowHoldsFiveRefreshes() async throws {
        let world = TokenWorld(accepting: [], credential: Token("old"))
        for _ in 0..<5 { #expect(try await world.get() == "401") }
        await #expect(throws: AuthenticationError.excessiveRefresh) { try await world.get() }
    }

    @Test func theRefreshMayUseTheSessionItBelongsTo() async throws {
        let world = Locked<TokenWorld?>(nil)
        let made = TokenWorld(accepting: ["token-1"], credential: Token("old")) { number in
            // A request of the refresh is sent without a credential, is refused, and does not wait for its own refresh.
            let answer = try await world.withLock { $0 }?.get("token")
            return Token(answer == "401" ? "token-\(number)" : "wrong")
        }
        world.withLock { $0 = made }
        #expect(try await made.get() == "token-1")
        world.withLock { $0 = nil }
        let tokens = made.transport.requests.filter { $0.url.hasSuffix("/token") }
        #expect(tokens.map { $0.request.headers[.authorization] } == [nil])
    }
}
