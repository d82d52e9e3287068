import CurlEngine
import Testing
import TrellisCore
import TrellisTesting

@testable import TrellisOAuth

/// The sign-in on another device (RFC 8628).
@Suite(.timeLimit(.minutes(3)))
struct DeviceCodeTests {
    @Test func slowDownAddsFiveSeconds() {
        var polling = DevicePolling(interval: nil, lifetime: .seconds(100))
        #expect(polling.begin() == .wait(.seconds(5)))
        #expect(polling.decide(after: OAuthRefusal("authorization_pending")) == .wait(.seconds(5)))
        #expect(polling.decide(after: OAuthRefusal("slow_down")) == .wait(.seconds(10)))
        #expect(polling.decide(after: OAuthRefusal("authorization_pending")) == .wait(.seconds(10)))
        #expect(polling.decide(after: OAuthError.unacceptableStatus(503)) == .wait(.seconds(20)))
        #expect(polling.decide(after: OAuthRefusal("access_denied")) == .stop)
    }

    @Test func theCodeEndsThePolling() {
        var polling = DevicePolling(interval: 5, lifetime: .seconds(11))
        #expect(polling.begin() == .wait(.seconds(5)))
        #expect(polling.decide(after: OAuthRefusal("authorization_pending")) == .wait(.seconds(5)))
        #expect(polling.decide(after: OAuthRefusal("authorization_pending")) == .stop)
    }

    @Test(arguments: [(0.0, 1), (-4.0, 1), (1e9, 300), (7.0, 7)])
    func theIntervalHasLimits(_ interval: Double, _ seconds: Int) {
        #expect(DevicePolling(interval: interval, lifetime: .seconds(1000)).interval == .seconds(seconds))
    }

    /// A URL that was cut would lead elsewhere.
    @Test func aLongURLIsShownWholeOrNotAtAll() throws {
        func shown(_ count: Int) throws -> OAuthDeviceCode {
            let start = "https://a.example/"
            let url = start + String(repeating: "d", count: count - start.utf8.count)
            let answer = #"{"device_code": "c", "user_code": "u", "expires_in": 9, "verification_uri": "\#(url)"}"#
            let code = try DeviceAuthorization(JSONValue(json: .init(answer.utf8))).shown
            #expect(code.url == url)
            return code
        }
        _ = try shown(301)
        _ = try shown(DeviceAuthorization.longestURL)
        #expect(throws: OAuthError.self) { try shown(DeviceAuthorization.longestURL + 1) }
    }

    @Test func aPersonSignsInOnAnotherDevice() async throws {
        let shown = Locked<[OAuthDeviceCode]>([])
        var rules = OAuthTestServer.Rules()
        rules.deviceAnswers = [.pending, .slowDown]
        let world = try OAuthWorld(
            grant: .deviceCode { code in shown.withLock { $0.append(code) } }, client: OAuthClient(id: "tool"),
            rules: rules)
        let call = Task { try await world.get() }
        for (seconds, count) in [(5, 1), (5, 2), (10, 3)] {
            await world.clock.waitForSleepers()
            await world.clock.advance(by: .seconds(seconds - 1))
            #expect(world.server.tokenRequestCount == count - 1)
            await world.clock.advance(by: .seconds(1))
            #expect(world.server.tokenRequestCount == count)
        }
        #expect(try await call.value.hasPrefix("Bearer access-"))
        #expect(shown.withLock { $0.map(\.userCode) } == ["WDJB-MJHT"])
        // The next token needs nobody.
        world.server.expireAccessTokens()
        #expect(try await world.get().hasPrefix("Bearer access-"))
        #expect(shown.withLock { $0.count } == 1)
    }

    @Test(arguments: [OAuthTestServer.DeviceAnswer.denied, .expired])
    func arefusalEndsTheSignIn(_ answer: OAuthTestServer.DeviceAnswer) async throws {
        var rules = OAuthTestServer.Rules()
        rules.deviceAnswers = [answer]
        let world = try OAuthWorld(grant: .deviceCode { _ in }, client: OAuthClient(id: "tool"), rules: rules)
        let call = Task { try await world.get() }
        await world.clock.waitForSleepers()
        await world.clock.advance(by: .seconds(5))
        await #expect(throws: OAuthRefusal(answer.rawValue)) { try await call.value }
    }

    /// Another sign-in needs a person, who may not be there.
    @Test(arguments: [false, true])
    func aRefusedRefreshTokenAsksAPersonOnlyIfTheGrantSaysSo(_ signsInAgain: Bool) async throws {
        let shown = Locked(0)
        let world = try OAuthWorld(
            grant: .deviceCode(signsInAgain: signsInAgain) { _ in shown.withLock { $0 += 1 } },
            client: OAuthClient(id: "tool"))
        let first = Task { try await world.get() }
        await world.clock.waitForSleepers()
        await world.clock.advance(by: .seconds(5))
        _ = try await first.value
        world.server.expireAccessTokens()
        world.server.revokeRefreshTokens()
        let second = Task { try await world.get() }
        if signsInAgain {
            await world.clock.waitForSleepers()
            await world.clock.advance(by: .seconds(5))
            #expect(try await second.value.hasPrefix("Bearer "))
        } else {
            await #expect(throws: OAuthRefusal("invalid_grant")) { try await second.value }
        }
        #expect(shown.withLock { $0 } == (signsInAgain ? 2 : 1))
    }
}
