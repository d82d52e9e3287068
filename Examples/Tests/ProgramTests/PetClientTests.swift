import Foundation
import Testing
import Trellis
import TrellisTesting

@testable import Programs

/// The tests that the author of `PetClient` writes for it.
@Suite(.timeLimit(.minutes(15))) struct PetClientTests {
    private let router = MockRouter(baseURL: "https://pets.example.com/v2/")

    /// A client whose clock stands still unless a test moves it, however slow the machine is.
    private func client(_ transport: any Transport, clock: TestClock = TestClock()) -> PetClient {
        PetClient(tokens: Tokens(access: "old", refresh: "first"), key: "key", transport: transport, clock: clock)
    }

    @Test func aRefusedTokenIsRefreshedAndEveryRequestIsSigned() async throws {
        router.route(.get, "pets/7", .header("Authorization", "Bearer old")).respond(with: MockResponse(status: 401))
        router.route(.post, "token", .json(#"{"refresh":"first"}"#))
            .respond(with: .json(#"{"access":"new","refresh":"second"}"#))
        router.route(.get, "pets/7", .header("Authorization", "Bearer new")).respond(
            with: .json(#"{"id":7,"name":"Tom"}"#))
        #expect(try await client(router).pet(7) == Pet(id: 7, name: "Tom"))
        let signed = ["GET\n/v2/pets/7\n", "POST\n/v2/token\n{\"refresh\":\"first\"}", "GET\n/v2/pets/7\n"]
        let signature = Signature(key: "key")
        #expect(router.requests.map { $0["X-Signature"] } == signed.map { signature.code(of: Data($0.utf8)) })
        try router.verify()
    }

    @Test func aPageIsSignedAgainAfterARedirect() async throws {
        router.route(.get, "pets", .query("page", "2")).respond(
            with: MockResponse(status: 307, headers: ["Location": "/v2/more"]))
        router.route(.get, "more").respond(with: .json("[]"))
        router.route(.get, "pets").respond(
            with: .json(#"[{"id":1,"name":"A"}]"#, headers: ["Link": #"</v2/pets?page=2>; rel="next""#]))
        var pages: [[Pet]] = []
        for try await page in client(router).pets() { pages.append(page) }
        #expect(pages == [[Pet(id: 1, name: "A")], []])
        #expect(Set(router.requests.map { $0["X-Signature"] }).count == 3)
        try router.verify()
    }

    @Test func aRefusalIsAnErrorWithItsCode() async throws {
        router.route(.post, "pets").respond(with: .json(#"{"code":"name","message":"no name"}"#, status: 422))
        router.route(.get, "pets/404").respond(with: .json(#"{"code":"none","message":"no pet"}"#, status: 404))
        let client = client(router)
        let error = await #expect(throws: ErrorResponse<Problem>.self) { try await client.add(name: "") }
        #expect(error?.body.code == "name")
        #expect(try await client.pet(404) == nil)
    }

    @Test func aBusyServiceGetsTheSameKeyAfterItsPause() async throws {
        let clock = TestClock()
        let busy = MockResponse(status: 503, headers: ["Retry-After": "2"])
        let transport = MockTransport(responses: [busy, .json(#"{"id":8,"name":"Tom"}"#, status: 201)])
        let client = client(transport, clock: clock)
        let call = Task { try await client.add(name: "Tom") }
        await clock.waitForSleepers()
        await clock.advance(by: .seconds(3))
        #expect(try await call.value.id == 8)
        let keys = transport.requests.map { $0["Idempotency-Key"] }
        #expect(keys.count == 2 && keys[0] == keys[1] && keys[0] != nil)
    }

    @Test func aSilentServiceEndsInATimeout() async throws {
        let clock = TestClock()
        let transport = ScriptedTransport(clock: clock)
        let client = client(transport, clock: clock)
        let call = Task { try await client.pet(7) }
        _ = try await transport.nextAttempt()
        await clock.advance(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.isTimeout == true)
    }

    @Test func fourRequestsAreInFlight() async throws {
        let transport = ScriptedTransport()
        // With `https`, the first connection would have to say first whether it takes several requests.
        let client = PetClient(
            baseURL: "http://pets.example.com/v2/", tokens: Tokens(access: "old", refresh: "first"), key: "key",
            transport: transport, clock: TestClock())
        let call = Task { try await client.pets(Array(1...8)) }
        for _ in 1...4 { _ = try await transport.nextAttempt() }
        await client.session.settle()
        #expect(transport.attempts.count == 4)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test func aCassetteOfARefreshHasNoSecretsAndIsReplayed() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "pets-\(UUID().uuidString).har").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let server = try LoopbackServer.http { request in
            switch (request.path, request["Authorization"]) {
            case ("/v2/token", _): .json(#"{"access":"new-secret","refresh":"second-secret"}"#)
            case (_, "Bearer new-secret"): .json(#"{"id":7,"name":"Tom"}"#)
            default: .init(401)
            }
        }
        for mode in [CassetteMode.all, .none] {
            let transport = CassetteTransport(Cassette(path: file, mode: mode))
            let tokens = Tokens(access: "old-secret", refresh: "first-secret")
            let client = PetClient(
                baseURL: server.url("/v2/"), tokens: tokens, key: "key", transport: transport, clock: TestClock())
            #expect(try await client.pet(7)?.name == "Tom")
            try await transport.finish()
        }
        #expect(server.requests.count == 3)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("Tom") && !text.contains("-secret"))
    }
}
