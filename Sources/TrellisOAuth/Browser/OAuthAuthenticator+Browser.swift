import CurlEngine
import FoundationEssentials
import TrellisCore

extension OAuthAuthenticator {
    /// Lets a person sign in with a browser on this machine (RFC 6749, section 4.1; RFC 7636; RFC 8252, section 7.3).
    func signInWithBrowser(
        at server: FoundServer, open: @Sendable (String) async throws -> Void
    ) async throws -> OAuthToken {
        guard let page = server.urls.authorization else {
            throw OAuthError.missingEndpoint(name: "authorization_endpoint")
        }
        let listener: LoopbackListener
        do throws(FileError) { listener = try LoopbackListener() } catch {
            throw OAuthError.noListener(reason: error.reason)
        }
        let (pkce, state) = (PKCE(), PKCE.random())
        let callback = AuthorizationCallback(
            port: listener.port, state: state, issuer: server.urls.issuer, requiresIssuer: server.urls.sendsIssuer)
        let url = try authorizationURL(
            try SecureURL.parsed(page).text, callback, challenge: pkce.challenge, urls: server.urls)
        // The port listens already: the browser may be back before the function that opens it.
        try await open(url)
        let outcome = try await withTimeLimit(at: server) {
            try await listener.value { head -> (answer: [UInt8], value: AuthorizationCallback.Outcome?) in
                let outcome = callback.outcome(ofHead: head)
                return (AuthorizationCallback.page(outcome), outcome == .notFound ? nil : outcome)
            }
        }
        guard case .code(let code) = outcome else {
            if case .refused(let refusal) = outcome { throw refusal }
            throw OAuthError.signInTimedOut
        }
        var form = TokenForm(grantType: "authorization_code")
        form.add("code", code, isSecret: true)
        form.add("redirect_uri", callback.redirectURI)
        form.add("code_verifier", pkce.verifier, isSecret: true)
        let (target, sent) = (server.urls.token, now())
        // A code is good once: the server ends the tokens of a code that comes twice (RFC 6749, section 4.1.2).
        let answer = try await server.endpoint.post(form, to: target, audience: target, isRepeated: false)
        return try TokenResponse.token(answer, now: sent, issuer: server.urls.issuer)
    }

    /// Returns the URL of the page where the person signs in.
    ///
    /// - Parameter page: The URL without a fragment, and percent-encoded: a terminal may show it. Its query may have items already.
    func authorizationURL(
        _ page: String, _ callback: AuthorizationCallback, challenge: String, urls: OAuthEndpoints
    ) -> String {
        var form = TokenForm()
        form.add("response_type", "code")
        form.add("client_id", client.id)
        form.add("redirect_uri", callback.redirectURI)
        form.add("state", callback.state)
        form.add("code_challenge", challenge)
        form.add("code_challenge_method", "S256")
        addScope(to: &form, urls)
        let separator = page.firstIndex(ofByte: "?") == nil ? "?" : "&"
        return page + separator + form.text
    }

    /// Returns the result of work that has to end within ``signInTimeout`` on the clock of the session.
    private func withTimeLimit<Value: Sendable>(
        at server: FoundServer, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (session, limit) = (server.endpoint.session, signInTimeout)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                try await session.wait(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else { throw OAuthError.signInTimedOut }
            return value
        }
    }
}
