import FoundationEssentials
import Testing
import TrellisCore
import TrellisTesting

@testable import TrellisOAuth

/// Calls with tokens of an authorization server, over a session.
@Suite(.timeLimit(.minutes(3)))
struct OAuthCallTests {
    @Test func theFirstCallGetsAToken() async throws {
        let world = try OAuthWorld(change: { $0.scope = ["read", "write"] })
        let answer = try await world.get()
        #expect(answer.hasPrefix("Bearer access-1-"))
        #expect(try await world.get() == answer)
        #expect(world.server.forms == [["grant_type": "client_credentials", "scope": "read write"]])
        #expect(
            world.transport.requests.map(\.path) == [
                "/.well-known/oauth-authorization-server", "/token", "/", "/",
            ])
    }

    @Test func aHundredCallsAreOneTokenRequest() async throws {
        let isAsked = LoopbackServer.Gate(), gate = LoopbackServer.Gate()
        let world = try OAuthWorld(isAnswered: {
            isAsked.open()
            try await gate.opened()
        })
        let calls = (0..<100).map { index in Task { try await world.get("/\(index)") } }
        try await isAsked.opened()
        gate.open()
        var answers: Set<String> = []
        for call in calls { answers.insert(try await call.value) }
        #expect(answers.count == 1)
        #expect(world.server.tokenRequestCount == 1)
    }

    @Test func aRefusedTokenIsReplacedOnce() async throws {
        let world = try OAuthWorld()
        let first = try await world.get()
        world.server.expireAccessTokens()
        let second = try await world.get()
        #expect(first != second && second.hasPrefix("Bearer "))
        #expect(world.server.tokenRequestCount == 2)
    }

    @Test func aTokenIsRenewedAheadOfItsExpiry() async throws {
        let world = try OAuthWorld()
        let first = try await world.get()
        await world.clock.advance(by: .seconds(3600 - 61))
        #expect(try await world.get() == first)
        await world.clock.advance(by: .seconds(1))
        #expect(try await world.get() != first)
        #expect(world.server.tokenRequestCount == 2)
    }

    /// The old token has a minute left, in which the server may come back.
    @Test func aTokenStaysInUseWhileTheServerIsAway() async throws {
        let world = try OAuthWorld(configuration: SessionConfiguration())
        let first = try await world.get()
        await world.clock.advance(by: .seconds(3600 - 59))
        world.server.rules.interruptions = [MockResponse(status: 400, headers: [:], body: Data("{}".utf8))]
        await #expect(throws: OAuthError.unacceptableStatus(400)) { try await world.get() }
        world.server.rules.interruptions = [
            MockResponse(status: 503, headers: ["Retry-After": "60"]), MockResponse(status: 503),
        ]
        #expect(try await world.get() == first)
        #expect(world.server.tokenRequestCount == 3)
        #expect(try await world.get() == first)
        #expect(world.server.tokenRequestCount == 3)
        world.server.rules.interruptions = []
        await world.clock.advance(by: .seconds(30))
        #expect(try await world.get() != first)
    }

    @Test func aRefreshTokenThatIsReplacedIsNotUsedAgain() async throws {
        let server = OAuthTestServer(OAuthWorld.issuer, clients: [:])
        let foreign = server.makeRefreshToken()
        let world = try OAuthWorld(grant: .refreshToken(foreign))
        #expect(world.server.makeRefreshToken() == foreign)
        _ = try await world.get()
        for _ in 0..<3 {
            world.server.expireAccessTokens()
            #expect(try await world.get().hasPrefix("Bearer "))
        }
        #expect(world.server.tokenRequestCount == 4)
        #expect(Set(world.server.forms.map { $0["refresh_token"] }).count == 4)
    }

    /// The server takes a second use for a theft. The refusal of its successor is no reason for one.
    @Test func theFirstRefreshTokenIsNotTriedAfterItsSuccessor() async throws {
        let first = OAuthTestServer(OAuthWorld.issuer, clients: [:]).makeRefreshToken()
        let world = try OAuthWorld(grant: .refreshToken(first))
        #expect(world.server.makeRefreshToken() == first)
        _ = try await world.get()
        world.server.expireAccessTokens()
        world.server.rules.interruptions = [
            MockResponse(status: 400, headers: [:], body: Data(#"{"error": "invalid_grant"}"#.utf8))
        ]
        await #expect(throws: OAuthRefusal("invalid_grant")) { try await world.get() }
        #expect(world.server.forms.filter { $0["refresh_token"] == first }.count == 1)
        #expect(try await world.get().hasPrefix("Bearer "))
    }

    @Test func aRefusalIsATypedError() async throws {
        let world = try OAuthWorld(grant: .refreshToken("unknown"))
        await #expect(throws: OAuthRefusal("invalid_grant")) { try await world.get() }
        #expect(world.transport.requests.allSatisfy { $0.url.hasPrefix(OAuthWorld.issuer) })
    }

    @Test func aBusyServerIsAskedAgainAfterTheTimeThatItNames() async throws {
        var rules = OAuthTestServer.Rules()
        rules.interruptions = [MockResponse(status: 429, headers: ["Retry-After": "7"]), MockResponse(status: 503)]
        let world = try OAuthWorld(rules: rules)
        let call = Task { try await world.get() }
        await world.clock.waitForSleepers()
        await world.clock.advance(by: .seconds(6))
        #expect(world.server.tokenRequestCount == 1)
        await world.clock.advance(by: .seconds(2))
        #expect(world.server.tokenRequestCount == 2)
        await world.clock.advance(by: .seconds(5))
        #expect(try await call.value.hasPrefix("Bearer "))
        #expect(world.server.tokenRequestCount == 3)
    }
}
