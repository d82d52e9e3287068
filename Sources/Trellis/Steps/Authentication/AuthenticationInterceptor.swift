/// Authenticates requests with a credential, and renews it when it has expired or is refused.
///
/// ```swift
/// let interceptor = AuthenticationInterceptor(authenticator: OAuthAuthenticator(), credential: credential)
/// configuration.steps.intercept(with: interceptor)
/// ```
///
/// - However many calls are refused at once, or find the credential expired, one refresh is made. They wait for it, together
///   with all calls that begin meanwhile, and then go out with the new credential in the order in which they came.
/// - A refresh ahead of expiry: ``AuthenticationCredential/requiresRefresh`` is asked before each attempt.
/// - A refresh that fails is the failure of every call that waits for it, and of those that had gone out before and are refused
///   later: none of them begins another one. Calls that are made later do, as often as the ``RefreshWindow`` allows.
/// - A call that is refused once more with a credential it was just sent again with gets the answer as it is.
/// - A call that is cancelled leaves at once; the refresh goes on, and its credential is kept even if nobody waits any more.
///
/// The credential is added to each request of the session, or to the one request whose interceptor this is.
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor, RedactedDescription
{
    private let authenticator: AuthenticatorType
    private let keeper: CredentialKeeper<AuthenticatorType>

    /// An interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: Adds credentials to requests and renews them.
    ///   - credential: The first credential. Without one, calls fail with ``AuthenticationError/missingCredential``.
    ///   - refreshWindow: How many refreshes are too many; `nil`: none are.
    ///   - refreshTimeout: How long a refresh may take. Then it is cancelled, and its calls fail with
    ///     ``AuthenticationError/refreshTimedOut``; a credential that it brings after all is used. `nil`: for ever.
    ///   - clock: Measures both.
    public init(
        authenticator: AuthenticatorType, credential: AuthenticatorType.Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow(),
        refreshTimeout: Duration? = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.authenticator = authenticator
        keeper = CredentialKeeper(
            authenticator, credential: credential, window: refreshWindow, timeout: refreshTimeout, clock: clock)
    }

    /// The credential as it is now.
    ///
    /// Once another is set, or `nil`, what a refresh under way brings is not wanted any more: its calls go on with the one that
    /// was set, and what failed before is forgotten.
    public var credential: AuthenticatorType.Credential? {
        get { keeper.credential }
        set { keeper.credential = newValue }
    }

    /// The request with the credential; waits for a refresh.
    ///
    /// - Throws: ``AuthenticationError``, or what the authenticator throws.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        guard !isPartOfRefresh else { return request }
        return try await apply(keeper.credential(for: context.id), to: request)
    }

    /// Apart, so that those who wait for the credential have no copy of their request.
    @inline(never)
    private func apply(_ credential: AuthenticatorType.Credential, to request: Request) async throws -> Request {
        var request = request
        try await authenticator.apply(credential, to: &request)
        return request
    }

    /// Another attempt, with another credential, where this one failed because of its own.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        guard !isPartOfRefresh, let response = attempt.response ?? (attempt.error as? TrellisError)?.response,
            authenticator.didRequest(attempt.request, with: response, failDueToAuthenticationError: attempt.error)
        else { return .doNotRetry }
        guard let (credential, version) = keeper.versioned else {
            return .doNotRetryWithError(AuthenticationError.missingCredential)
        }
        let isCurrent = await authenticator.isRequest(attempt.request, authenticatedWith: credential)
        do {
            let isRenewed = try await keeper.renew(for: context.call, isCurrent: isCurrent, version: version)
            return isRenewed ? .retry : .doNotRetry
        } catch {
            return .doNotRetryWithError(error)
        }
    }

    /// The refresh's own requests would wait for themselves.
    private var isPartOfRefresh: Bool { RefreshScope.refreshes.contains(ObjectIdentifier(keeper)) }
}
