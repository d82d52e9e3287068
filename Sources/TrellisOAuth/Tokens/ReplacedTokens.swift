import CurlEngine

/// The tokens that this process has replaced. A second use of a refresh token could end all tokens (RFC 9700, section 4.14.2).
final class ReplacedTokens: Sendable {
    private struct State {
        var isFirstReplaced = false
        var accessToken: String?
    }

    private let state = Locked(State())

    /// Takes note of a token that takes the place of the grant's refresh token.
    func noteFirst() { state.withLock { $0.isFirstReplaced = true } }

    /// Takes note of a token that takes the place of a stored one. The store still has the old one if it cannot be written.
    func note(_ stored: OAuthToken?) { state.withLock { $0.accessToken = stored?.accessToken } }

    /// Returns the refresh token of the grant unless it was replaced.
    func first(_ token: String?) -> String? { state.withLock { $0.isFirstReplaced } ? nil : token }

    /// Returns a stored token unless it was replaced.
    func present(_ stored: OAuthToken?) -> OAuthToken? {
        guard let stored, let old = state.withLock({ $0.accessToken }) else { return stored }
        return stored.accessToken.hasSameBytes(as: old) ? nil : stored
    }
}
