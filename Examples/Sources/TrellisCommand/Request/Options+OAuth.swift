import Foundation
import TerminalKit
import Trellis
import TrellisOAuth

extension Options {
    /// Returns the authenticator of `--oauth`, for the origins of the URLs.
    ///
    /// - Throws: ``RequestFailure`` for a file that cannot be read; `OAuthError`.
    func oauthAuthenticator() throws -> OAuthAuthenticator? {
        guard let kind = authorization.oauth, let first = urls.first else { return nil }
        let server: OAuthServer =
            authorization.oauthIssuer.map { .issuer($0) } ?? .tokenEndpoint(authorization.oauthTokenURL ?? "")
        var oauth = try OAuthAuthenticator(server, client: try oauthClient(), grant: Self.grant(kind), origin: first)
        for url in urls.dropFirst() { try oauth.add(origin: url) }
        oauth.scope = authorization.oauthScope?.split(separator: " ").map(String.init) ?? []
        if let path = authorization.oauthTokenFile ?? (kind == .clientCredentials ? nil : defaultTokenFile(oauth)) {
            oauth.store = OAuthTokenFile(path, for: purpose(oauth))
            oauth.didFailToStore = { error in Terminal.error.print("trellis: the token is not kept: \(error)") }
        }
        return oauth
    }

    private func oauthClient() throws -> OAuthClient {
        let id = authorization.oauthClientID ?? ""
        guard let path = authorization.oauthClientSecretFile else { return OAuthClient(id: id) }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw RequestFailure("file", "the file of the secret cannot be read: \(path)")
        }
        // Editors and echo add a line end, which is no part of the secret.
        var secret = data
        while let last = secret.last, last == 0x0A || last == 0x0D { secret.removeLast() }
        return OAuthClient(id: id, secret: String(decoding: secret, as: UTF8.self))
    }

    /// Somebody who waits for the answer can sign in again.
    private static func grant(_ kind: OAuthOption) -> OAuthGrant {
        switch kind {
        case .clientCredentials: .clientCredentials
        case .device:
            .deviceCode(signsInAgain: true) { code in
                Terminal.error.print("Enter the code \(code.userCode) at \(TerminalText.shown(code.url))")
            }
        case .browser:
            .authorizationCode(signsInAgain: true) { url in
                Terminal.error.print("Open this URL in a browser on this machine:\n\(TerminalText.shown(url))")
            }
        }
    }

    /// The name of what the token is for.
    private func purpose(_ oauth: OAuthAuthenticator) -> String {
        let server = authorization.oauthIssuer ?? authorization.oauthTokenURL ?? ""
        let scope = oauth.scope.joined(separator: " ")
        return "\(oauth.client.id) at \(server) for \(oauth.origins.sorted().joined(separator: " ")) \(scope)"
    }

    /// Returns the path of the file for a token; `nil` without a home folder.
    private func defaultTokenFile(_ oauth: OAuthAuthenticator) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let state = environment["XDG_STATE_HOME"].flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil }
        guard let folder = state ?? environment["HOME"].map({ "\($0)/.local/state" }) else { return nil }
        // FNV-1a: a name for each purpose. The file has the purpose itself, so that nothing depends on it.
        let hash = purpose(oauth).utf8.reduce(14_695_981_039_346_656_037 as UInt64) {
            ($0 ^ UInt64($1)) &* 1_099_511_628_211
        }
        return "\(folder)/trellis/oauth/\(String(hash, radix: 16)).json"
    }
}
