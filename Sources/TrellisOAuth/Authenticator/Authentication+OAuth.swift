public import TrellisCore

extension Authentication {
    /// Sends tokens of an authorization server to the origins of an ``OAuthAuthenticator``.
    ///
    /// For several audiences in one session, add an ``OAuthAuthenticator/interceptor(refreshWindow:clock:)`` for each to
    /// ``/Trellis/SessionConfiguration/steps``.
    public static func oauth(_ authenticator: OAuthAuthenticator) -> Authentication {
        .interceptor(authenticator.interceptor())
    }
}

extension OAuthAuthenticator {
    /// Returns an interceptor without a token, whose first call gets one.
    ///
    /// Each interceptor gets tokens for itself. Sessions with one refresh token share an interceptor or a ``store``: a server that replaces
    /// refresh tokens takes the second use of one for a theft.
    ///
    /// - Parameters:
    ///   - refreshWindow: The limit on the number of requests for tokens within a span of time; `nil` if there is no limit.
    ///   - clock: The clock that measures the window and the limit on a refresh.
    public func interceptor(
        refreshWindow: RefreshWindow? = RefreshWindow(), clock: any Clock<Duration> = ContinuousClock()
    ) -> AuthenticationInterceptor<OAuthAuthenticator> {
        // A person may take minutes. A process that waits for another one's lock waits for its request.
        let day = Duration.seconds(86400)
        let limit = min(requestTimeout, day) * 3 + (grant.isInteractive ? min(signInTimeout, day) : .zero)
        return AuthenticationInterceptor(
            authenticator: self, credential: credential(), refreshWindow: refreshWindow, refreshTimeout: limit,
            clock: clock)
    }
}
