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
