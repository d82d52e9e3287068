import Foundation
import Trellis

struct OAuthTokens: AuthenticationCredential, Decodable {
    var access: String
    var refresh: String
    var lifetime: Double
    var received = Date.now  // no key: the server sends a lifetime, not a date
    var requiresRefresh: Bool { received.addingTimeInterval(lifetime - 60) < .now }

    private enum CodingKeys: String, CodingKey {
        case access = "access_token"
        case refresh = "refresh_token"
        case lifetime = "expires_in"
    }
}

struct OAuthServer: Authenticator {
    func apply(_ tokens: OAuthTokens, to request: inout Request) {
        request.headers[.authorization] = "Bearer " + tokens.access
    }

    func refresh(_ tokens: OAuthTokens, using session: RefreshSession) async throws -> OAuthTokens {
        let request = try Request("https://id.example.com/token", method: .post)
            .withParameters(["grant_type": "refresh_token", "refresh_token": tokens.refresh], encoder: .form)
        return try await session.decode(from: request)
    }
}

func makeRetryPolicy() -> RetryPolicy {
    var policy = RetryPolicy(retryLimit: 5, addsIdempotencyKey: true, budget: nil)
    policy.exponentialBackoffScale = .milliseconds(100)
    policy.maximumBackoff = .seconds(5)
    return policy
}

/// The code of the page about authentication.
enum AuthenticationPage {
    actor TokenStore {
        private(set) var tokens: Tokens?
        func save(_ tokens: Tokens) { self.tokens = tokens }
    }

    static func setOneLineEach(_ token: String, _ password: String) async throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.authentication = try .bearer(token, origin: "https://api.example.com")
        configuration.authentication = try .basic("ada", password, origin: "https://api.example.com")
        configuration.authentication = try .digest("ada", password, origin: "https://files.example.com")
        configuration.authentication = try .password("ada", password, origin: "https://files.example.com")
        configuration.authentication = .netrc(try await .load())
        return configuration
    }

    static func setOrigins(_ token: String, _ password: String) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        var credentials = OriginCredentials()
        try credentials.set(.bearer(token), for: "https://api.example.com")
        try credentials.set(.basic(username: "ada", password: password), for: "http://localhost:8080")
        configuration.authentication = .origins(credentials)
        return configuration
    }

    static func makeRequests(_ token: String, _ password: String) -> [Request] {
        let report = Request("https://api.example.com/report").withAuthorization(bearerToken: token)
        let page = Request("https://files.example.com/a").respondingToChallenges(username: "ada", password: password)
        return [report, page]
    }

    struct Tokens: AuthenticationCredential, Codable {
        var access: String
        var refresh: String
        var expiration: Date
        var requiresRefresh: Bool { expiration.timeIntervalSinceNow < 60 }  // one minute ahead, for clocks that differ
    }

    struct OAuth: Authenticator {
        let store: TokenStore

        func apply(_ tokens: Tokens, to request: inout Request) {
            request = request.withAuthorization(bearerToken: tokens.access)
        }

        func refresh(_ tokens: Tokens, using session: RefreshSession) async throws -> Tokens {
            let body = ["grant_type": "refresh_token", "refresh_token": tokens.refresh]
            let request = Request("https://id.example.com/token", method: .post, body: try .form(body))
            let new = try await session.decode(Tokens.self, from: request)
            await store.save(new)  // persists them for the next process
            return new
        }
    }

    static func setOAuth(_ store: TokenStore) async -> SessionConfiguration {
        var configuration = SessionConfiguration()
        let interceptor = AuthenticationInterceptor(
            authenticator: OAuth(store: store), credential: await store.tokens, refreshWindow: RefreshWindow())
        configuration.authentication = .interceptor(interceptor)
        return configuration
    }

    struct OnlyOneService: Authenticator {
        func apply(_ tokens: Tokens, to request: inout Request) {
            guard request.url.hasPrefix("https://api.example.com/") else { return }
            request = request.withAuthorization(bearerToken: tokens.access)
        }

        func refresh(_ tokens: Tokens, using session: RefreshSession) async throws -> Tokens { tokens }

        func didRequest(
            _ request: Request, with response: Response, failDueToAuthenticationError error: (any Error)?
        ) -> Bool {
            response.status.code == 401 || response.headers["X-Token-Expired"] != nil
        }
    }

    static func setKey(_ key: String) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.defaultHeaders["X-API-Key"] = key
        return configuration
    }
}
