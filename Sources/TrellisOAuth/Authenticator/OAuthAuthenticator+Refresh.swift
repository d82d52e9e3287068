import CurlEngine
import FoundationEssentials
public import TrellisCore

extension OAuthAuthenticator {
    /// Gets a token: from the ``store`` if another process has put a new one there, or else from the server.
    ///
    /// If the server cannot be reached, or is busy, while the token has not expired yet, the token stays in use.
    ///
    /// - Throws: ``OAuthError``, ``OAuthRefusal``, ``/Trellis/TrellisError``, and the errors of the ``store`` and of the grant's closures.
    public func refresh(_ credential: OAuthCredential, using session: RefreshSession) async throws -> OAuthCredential {
        do {
            return self.credential(try await token(after: credential, using: session))
        } catch {
            // Ahead of the expiry, the old token is good enough for a while. After a refusal it is not.
            guard Self.isTransient(error), credential.requiresRefresh, let token = credential.token,
                let expiration = token.expiration,
                let next = renewal.renewal(afterFailureOf: expiration, now: now())
            else { throw error }
            return OAuthCredential(token, renewal: next, now: now)
        }
    }

    /// Returns whether an error may be over after a while.
    static func isTransient(_ error: any Error) -> Bool {
        switch error {
        case OAuthError.unacceptableStatus(let status): status == 429 || status >= 500
        case let refusal as OAuthRefusal: ["temporarily_unavailable", "server_error"].contains(refusal.code)
        case let error as TrellisError: error.isTransient
        default: false
        }
    }

    private func token(after credential: OAuthCredential, using session: RefreshSession) async throws -> OAuthToken {
        guard let store else { return try await newToken(after: credential.token, using: session) }
        if let stored = replaced.present(try await store.token()), isNew(stored, after: credential.token) {
            return stored
        }
        let result = Locked<OAuthToken?>(nil)
        do {
            try await store.update { stored in
                // Another process may have been faster while this one waited.
                let found = replaced.present(stored)
                if let found, isNew(found, after: credential.token) { return result.withLock { $0 = found } }
                do {
                    let token = try await newToken(after: found ?? credential.token, using: session)
                    replaced.note(stored)
                    result.withLock { $0 = token }
                    stored = token
                } catch let refusal as OAuthRefusal where refusal.code == "invalid_grant" {
                    // A refresh token that was refused is of no use to anyone.
                    stored = nil
                    throw refusal
                }
            }
        } catch {
            guard let token = result.withLock({ $0 }) else { throw error }
            didFailToStore?(error)
            return token
        }
        guard let token = result.withLock({ $0 }) else { throw AuthenticationError.missingCredential }
        return token
    }

    /// Returns whether a stored token is another one than the last, and still good.
    private func isNew(_ stored: OAuthToken, after last: OAuthToken?) -> Bool {
        let isSame = last.map { $0.accessToken.hasSameBytes(as: stored.accessToken) } ?? false
        return !isSame && !stored.isExpired(at: now())
    }

    // MARK: Grants

    /// Returns a token from the server.
    private func newToken(after old: OAuthToken?, using session: RefreshSession) async throws -> OAuthToken {
        let endpoint = OAuthEndpoint(session: session, client: client, timeout: requestTimeout)
        let server = FoundServer(urls: try await discovered.endpoints(of: server, with: endpoint), endpoint: endpoint)
        switch grant.kind {
        case .clientCredentials: return try await ask(TokenForm(grantType: "client_credentials"), at: server)
        case .jwtBearer(let assertion):
            var form = TokenForm(grantType: "urn:ietf:params:oauth:grant-type:jwt-bearer")
            form.add("assertion", try await assertion.text(for: server.urls.token), isSecret: true)
            return try await ask(form, at: server)
        case .refreshToken(let first):
            let last = old?.refreshToken(for: server.urls.issuer)
            return try await refreshed([last, replaced.first(first)], scope: old?.scope, at: server)
        case .deviceCode, .authorizationCode:
            guard let old else { return try await signIn(at: server) }
            do {
                let last = old.refreshToken(for: server.urls.issuer)
                return try await refreshed([last], scope: old.scope, at: server)
            } catch let refusal as OAuthRefusal where refusal.code == "invalid_grant" && grant.signsInAgain {
                return try await signIn(at: server)
            } catch OAuthError.missingRefreshToken where grant.signsInAgain {
                return try await signIn(at: server)
            }
        }
    }

    private func signIn(at server: FoundServer) async throws -> OAuthToken {
        switch grant.kind {
        case .deviceCode(let show): try await signInWithDevice(at: server, show: show)
        case .authorizationCode(let open): try await signInWithBrowser(at: server, open: open)
        case .clientCredentials, .refreshToken, .jwtBearer: throw OAuthError.missingRefreshToken
        }
    }

    /// Returns a token for the first refresh token that is not refused (RFC 6749, section 6).
    private func refreshed(
        _ candidates: [String?], scope: String?, at server: FoundServer
    ) async throws -> OAuthToken {
        var failure: any Error = OAuthError.missingRefreshToken
        var last: String?
        for candidate in candidates.compactMap(\.self) where candidate != last {
            last = candidate
            var form = TokenForm(grantType: "refresh_token")
            form.add("refresh_token", candidate, isSecret: true)
            do {
                var token = try await ask(form, at: server)
                if case .refreshToken(let first?) = grant.kind, first.hasSameBytes(as: candidate),
                    token.refreshToken?.hasSameBytes(as: first) == false
                {
                    replaced.noteFirst()
                }
                // Without a new refresh token, the old one stays.
                token.refreshToken = token.refreshToken ?? candidate
                token.scope = token.scope ?? scope
                return token
            } catch let refusal as OAuthRefusal where refusal.code == "invalid_grant" {
                failure = refusal
            }
        }
        throw failure
    }

    /// Asks for a token with a form, to which the scope and the audience are added.
    func ask(_ form: TokenForm, at server: FoundServer, isRepeated: Bool = true) async throws -> OAuthToken {
        var form = form
        addScope(to: &form, server.urls)
        let (url, sent) = (server.urls.token, now())
        let answer = try await server.endpoint.post(form, to: url, audience: url, isRepeated: isRepeated)
        return try TokenResponse.token(answer, now: sent, issuer: server.urls.issuer)
    }

    /// Adds the scope (RFC 6749, section 3.3), the resources (RFC 8707, section 2) and the audience.
    func addScope(to form: inout TokenForm, _ urls: OAuthEndpoints) {
        if !scope.isEmpty { form.add("scope", scope.joined(separator: " ")) }
        for resource in resources.isEmpty ? [urls.resource].compactMap(\.self) : resources {
            form.add("resource", resource)
        }
        form.add("audience", audience)
    }
}
