import CurlEngine
import Foundation
import Testing
import TrellisCore
import TrellisTesting

@testable import TrellisOAuth

/// The file of a token, which processes share.
@Suite(.timeLimit(.minutes(3)))
struct OAuthTokenFileTests {
    /// Runs a test with the path of a file in a new folder.
    private static func withPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("oauth-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body("\(folder)/token.json")
    }

    @Test func aTokenIsKeptForItsUserAlone() async throws {
        try await Self.withPath { path in
            let file = OAuthTokenFile(path, for: "app")
            #expect(try await file.token() == nil)
            let token = OAuthToken(
                "a", expiration: Date(timeIntervalSince1970: 1_800_000_000), refreshToken: "r", scope: "read",
                issuer: OAuthWorld.issuer)
            try await file.update { $0 = token }
            #expect(try await OAuthTokenFile(path, for: "app").token() == token)
            #expect(FileSystem.mode(of: path) == 0o600)
        }
    }

    @Test func aFileThatOthersMayReadIsRefused() async throws {
        try await Self.withPath { path in
            let file = OAuthTokenFile(path, for: "app")
            try await file.update { $0 = OAuthToken("a") }
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            await #expect(throws: OAuthError.self) { try await file.token() }
            await #expect(throws: OAuthError.self) { try await file.update { $0 = OAuthToken("b") } }
            #expect(FileSystem.mode(of: path) == 0o644)
        }
    }

    @Test func aFileForSomethingElseStaysAsItIs() async throws {
        try await Self.withPath { path in
            try await OAuthTokenFile(path, for: "app").update { $0 = OAuthToken("a") }
            let other = OAuthTokenFile(path, for: "other")
            await #expect(throws: OAuthError.self) { try await other.update { $0 = OAuthToken("b") } }
            #expect(try await OAuthTokenFile(path, for: "app").token() == OAuthToken("a"))
        }
    }

    @Test func aChangeThatThrowsIsKeptAsFarAsItWent() async throws {
        try await Self.withPath { path in
            let file = OAuthTokenFile(path, for: "app")
            try await file.update { $0 = OAuthToken("a") }
            await #expect(throws: OAuthError.missingRefreshToken) {
                try await file.update { token in
                    token = nil
                    throw OAuthError.missingRefreshToken
                }
            }
            #expect(try await file.token() == nil)
        }
    }

    /// Another process may replace the file between its opening and the checks.
    @Test func aFileThatIsReplacedMeanwhileIsReadAsItWas() async throws {
        try await Self.withPath { path in
            let file = OAuthTokenFile(path, for: "app")
            try await file.update { $0 = OAuthToken("a") }
            let isReplaced = Locked(false)
            let replacing: FileOperationHook.Handler = { operation, moment in
                guard operation == .open(path: path), moment == .after else { return nil }
                isReplaced.withLock { $0 = true }
                do throws(FileError) { try WholeFile.replace(path: path, with: Data()) } catch { return error }
                return nil
            }
            let token = try await FileOperationHook.$handler.withValue(replacing) { try await file.token() }
            #expect(token == OAuthToken("a") && isReplaced.withLock { $0 })
            #expect(try await file.token() == nil)
        }
    }

    /// Two sessions stand for two processes: their locks exclude each other, too.
    @Test func twoProcessesAskOnce() async throws {
        try await Self.withPath { path in
            let server = OAuthTestServer(OAuthWorld.issuer, clients: ["app": "s3cret"])
            let refresh = server.makeRefreshToken()
            let transport = MockTransport { request in
                if let answer = server.response(to: request) { return answer }
                return server.accepts(request["Authorization"]) ? .text("yes") : MockResponse(status: 401)
            }
            let sessions = try (0..<2).map { _ in
                var oauth = try OAuthAuthenticator(
                    .tokenEndpoint("\(OAuthWorld.issuer)/token"), client: OAuthClient(id: "app", secret: "s3cret"),
                    grant: .refreshToken(refresh), origin: OAuthWorld.api)
                oauth.store = OAuthTokenFile(path, for: "app")
                var configuration = SessionConfiguration()
                configuration.authentication = .oauth(oauth)
                return Session(configuration: configuration, transport: transport)
            }
            func askBoth() async throws -> [Int] {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for session in sessions {
                        group.addTask { try await session.data("\(OAuthWorld.api)/").1.status.code }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(try await askBoth() == [200, 200])
            #expect(server.tokenRequestCount == 1)
            // Both are refused. The second to come finds the token of the first.
            server.expireAccessTokens()
            #expect(try await askBoth() == [200, 200])
            #expect(server.tokenRequestCount == 2)
            #expect(Set(server.forms.map { $0["refresh_token"] }).count == 2)
        }
    }

    /// A second use of the stored refresh token would end all tokens.
    @Test func aStoreThatCannotBeWrittenGivesNoTokenTwice() async throws {
        struct Full: Error {}
        struct FullStore: OAuthTokenStore {
            let stored: OAuthToken
            func token() async throws -> OAuthToken? { stored }
            func update(_ change: @Sendable (inout OAuthToken?) async throws -> Void) async throws {
                var token: OAuthToken? = stored
                try await change(&token)
                throw Full()
            }
        }
        let refresh = OAuthTestServer(OAuthWorld.issuer, clients: [:]).makeRefreshToken()
        let world = try OAuthWorld(
            grant: .refreshToken(),
            change: {
                $0.store = FullStore(stored: OAuthToken("old", expiration: .distantPast, refreshToken: refresh))
            })
        #expect(world.server.makeRefreshToken() == refresh)
        #expect(try await world.get().hasPrefix("Bearer "))
        world.server.expireAccessTokens()
        #expect(try await world.get().hasPrefix("Bearer "))
        #expect(Set(world.server.forms.map { $0["refresh_token"] }).count == 2)
    }

    /// The new token is used, because the server has ended the old one.
    @Test func aTokenThatCannotBeStoredIsUsed() async throws {
        struct Full: Error {}
        struct FullStore: OAuthTokenStore {
            func token() async throws -> OAuthToken? { nil }
            func update(_ change: @Sendable (inout OAuthToken?) async throws -> Void) async throws {
                var token: OAuthToken?
                try await change(&token)
                throw Full()
            }
        }
        let failures = Locked(0)
        let world = try OAuthWorld(change: {
            $0.store = FullStore()
            $0.didFailToStore = { _ in failures.withLock { $0 += 1 } }
        })
        #expect(try await world.get().hasPrefix("Bearer "))
        #expect(failures.withLock { $0 } == 1)
    }
}
