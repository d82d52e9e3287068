/// A store of one token, which several processes may share, such as an ``OAuthTokenFile``.
public protocol OAuthTokenStore: Sendable {
    /// Returns the token that is stored, if any. The method waits for no other process.
    ///
    /// - Throws: An error of the store.
    func token() async throws -> OAuthToken?

    /// Changes the token, while nobody else does: a second update waits for the first, also in another process.
    ///
    /// - Parameter change: Changes the stored token, which may take as long as a request. What it has changed is stored, also if it throws.
    /// - Throws: The error of `change`; an error of the store.
    func update(_ change: @Sendable (inout OAuthToken?) async throws -> Void) async throws
}
