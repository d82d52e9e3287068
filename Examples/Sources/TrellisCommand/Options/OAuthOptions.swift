import ArgumentParser

/// The ways to a token of `--oauth`.
enum OAuthOption: String, ExpressibleByArgument, CaseIterable {
    case clientCredentials = "client-credentials"
    case device, browser
}

/// The authorization server that gives the request its token.
struct OAuthOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Get a token from an authorization server, for the origin of the URL alone. client-credentials: with the secret of a "
                + "client. device: a person enters a code elsewhere. browser: a person signs in on this machine.",
            valueName: "client-credentials|device|browser"))
    var oauth: OAuthOption?

    @Option(help: ArgumentHelp("The server, whose metadata names its endpoints.", valueName: "URL"))
    var oauthIssuer: String?

    @Option(
        name: .customLong("oauth-token-url"),
        help: ArgumentHelp(
            "The server's token endpoint, in place of --oauth-issuer; for client-credentials.", valueName: "URL"))
    var oauthTokenURL: String?

    @Option(name: .customLong("oauth-client-id"), help: ArgumentHelp("The client.", valueName: "ID"))
    var oauthClientID: String?

    @Option(
        help: ArgumentHelp(
            "The file with the client's secret, which no list of processes shows.", valueName: "FILE"),
        completion: .file())
    var oauthClientSecretFile: String?

    @Option(help: ArgumentHelp("The names of the scope, with spaces between.", valueName: "SCOPE"))
    var oauthScope: String?

    @Option(
        help: ArgumentHelp(
            "Keep the token in this file, which others must not be able to read. For device and browser, the default is a file in "
                + "the folder trellis/oauth of XDG_STATE_HOME, or of ~/.local/state.",
            valueName: "FILE"),
        completion: .file())
    var oauthTokenFile: String?

    func validate() throws {
        guard let oauth else {
            let others = [oauthIssuer, oauthTokenURL, oauthClientID, oauthClientSecretFile, oauthScope, oauthTokenFile]
            guard others.allSatisfy({ $0 == nil }) else {
                throw ValidationError("The options --oauth-… go with --oauth.")
            }
            return
        }
        guard oauthClientID?.isEmpty == false else { throw ValidationError("--oauth needs --oauth-client-id.") }
        guard (oauthIssuer == nil) != (oauthTokenURL == nil) else {
            throw ValidationError("--oauth needs either --oauth-issuer or --oauth-token-url.")
        }
        guard oauthIssuer != nil || oauth == .clientCredentials else {
            throw ValidationError("--oauth \(oauth.rawValue) needs --oauth-issuer.")
        }
        guard oauthClientSecretFile != nil || oauth != .clientCredentials else {
            throw ValidationError("--oauth client-credentials needs --oauth-client-secret-file.")
        }
    }
}
