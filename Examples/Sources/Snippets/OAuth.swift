import Trellis
import TrellisOAuth

/// The code of the article about OAuth.
enum OAuthSnippets {
    static func clientCredentials(_ secret: String) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        let oauth = try OAuthAuthenticator(
            .issuer("https://id.example.com"), client: OAuthClient(id: "reports", secret: secret),
            grant: .clientCredentials, origin: "https://api.example.com")
        configuration.authentication = .oauth(oauth)
        return configuration
    }

    static func deviceCode(_ folder: String) throws -> OAuthAuthenticator {
        var oauth = try OAuthAuthenticator(
            .issuer("https://id.example.com"), client: OAuthClient(id: "tool"),
            grant: .deviceCode { code in print("Enter \(code.userCode) at \(code.url)") },
            origin: "https://api.example.com")
        oauth.scope = ["read", "offline_access"]
        oauth.store = OAuthTokenFile("\(folder)/token.json", for: "tool at id.example.com")
        return oauth
    }

    static func workload() throws -> OAuthAuthenticator {
        let assertion = OAuthAssertion.file("/var/run/secrets/tokens/identity")
        let client = OAuthClient(id: "reports", authentication: .assertion(assertion))
        return try OAuthAuthenticator(
            .tokenEndpoint("https://id.example.com/token"), client: client, grant: .clientCredentials,
            origin: "https://api.example.com")
    }

    static func audiences(_ users: OAuthAuthenticator, _ bills: OAuthAuthenticator) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: users.interceptor())  // each for its own origins
        configuration.steps.intercept(with: bills.interceptor())
        return configuration
    }
}
