/// An interceptor that authenticates requests with a credential, and renews the credential when it has expired or is refused.
///
/// ```swift
/// let interceptor = AuthenticationInterceptor(authenticator: OAuthAuthenticator(), credential: credential)
/// configuration.authentication = .interceptor(interceptor)
/// ```
///
/// - One refresh serves all calls that are refused, or find the credential expired, while it runs. They go on in order.
/// - ``AuthenticationCredential/requiresRefresh`` is read before each attempt, so that a refresh can begin ahead of expiry.
/// - A refresh that fails ends every call that waits for it or was authenticated before it. The ``RefreshWindow`` limits new ones.
/// - A 401 refuses the credential only if ``Authenticator/apply(_:to:)`` changed the request, and only from the request's own
///   origin.
/// - A call that is refused with the new credential too gets that response. A refresh costs no retry of a ``RetryPolicy``.
/// - A cancelled call ends at once; the refresh continues.
///
/// A request that proves a name and a password of its own (``Request/respondingToChallenges(username:password:)``) gets no credential.
/// <doc:Authenticating> has an example.
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor, RedactedDescription
{
    private let authenticator: AuthenticatorType
    /// The holder of the credential and of the calls that wait for a refresh.
    private let store: CredentialStore<AuthenticatorType>

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: The authenticator, which adds credentials to requests and renews them.
    ///   - credential: The first credential. Without one, calls fail with ``AuthenticationError/missingCredential``.
    ///   - refreshWindow: The limit on the number of refreshes within a span of time; `nil` if there is no limit.
    ///   - refreshTimeout: The longest time that a refresh may take. After that the refresh is cancelled, and its calls fail with
    ///     ``AuthenticationError/refreshTimedOut``; a credential that the refresh returns nevertheless is used. `nil` if there
    ///     is no limit.
    ///   - clock: The clock that measures the window and the timeout.
    public init(
        authenticator: AuthenticatorType, credential: AuthenticatorType.Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow(),
        refreshTimeout: Duration? = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.authenticator = authenticator
        store = CredentialStore(
            authenticator, credential: credential, window: refreshWindow, timeout: refreshTimeout, clock: clock)
    }

    /// The current credential.
    ///
    /// Setting another credential, or `nil`, discards the result of a refresh under way: the calls that wait for the refresh go
    /// on with the credential that was set, and earlier failures are forgotten.
    public var credential: AuthenticatorType.Credential? {
        get { store.credential }
        set { store.credential = newValue }
    }

    /// Returns the request with the credential added, after waiting for a refresh if one is needed or under way.
    ///
    /// - Throws: ``AuthenticationError``, or the error of the authenticator.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        guard !isPartOfRefresh, !context.hasOwnCredentials, authenticator.authenticates(request) else { return request }
        return try await apply(store.credential(for: context.call), to: request, context)
    }

    /// Adds the credential to a copy of the request. Separate from `adapt`, so that a call that waits for the credential holds no
    /// copy of its request.
    @inline(never)
    private func apply(
        _ credential: AuthenticatorType.Credential, to request: Request, _ context: CallContext
    ) async throws -> Request {
        var authenticated = request
        try await authenticator.apply(credential, to: &authenticated)
        // A credential that replaces an equal one counts as added: any change makes a new storage.
        let isAdded = !authenticated.isSame(as: request)
        context.call.changeCredentialRecord(of: ObjectIdentifier(store)) { record in
            record.isAdded = isAdded
            // An application step that sends several requests begins to count the attempts of each.
            if context.attempt == 1 { record.renewalCount = 0 }
        }
        return authenticated
    }

    /// Asks for another attempt with another credential, if the attempt failed because of its credential.
    ///
    /// Returns ``RetryResult/doNotRetry`` for a request that ``Authenticator/apply(_:to:)`` left as it was, and for a request to
    /// another origin, to which a redirect has led without the credential.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        // The error is the refresh's, and its response comes from the token's server: the call's own request was not sent.
        if let failure = store.failure(of: context.call) { return .doNotRetryWithError(failure) }
        let record = context.call.credentialRecord(of: ObjectIdentifier(store))
        guard !isPartOfRefresh, record.isAdded, !context.hasLeftOrigin,
            let response = attempt.response ?? attempt.error?.response(ofCall: context.callID),
            authenticator.didRequest(attempt.request, with: response, failDueToAuthenticationError: attempt.error)
        else { return .doNotRetry }
        guard let (credential, version) = store.versioned else {
            return .doNotRetryWithError(AuthenticationError.missingCredential)
        }
        let isCurrent = await authenticator.isRequest(attempt.request, authenticatedWith: credential)
        do {
            let isRenewed = try await store.renew(
                for: context.call, isCurrent: isCurrent, version: version, beforeWait: attempt.discard)
            guard isRenewed else { return .doNotRetry }
            context.call.changeCredentialRecord(of: ObjectIdentifier(store)) { $0.renewalCount += 1 }
            return .retry
        } catch {
            return .doNotRetryWithError(error)
        }
    }

    /// Whether the running task is part of the refresh, whose own requests would otherwise wait for themselves.
    private var isPartOfRefresh: Bool { RefreshScope.refreshes.contains(ObjectIdentifier(store)) }
}

extension AuthenticationInterceptor: CredentialHolder {
    var credentialEpoch: Int { store.epoch }
}

extension Error {
    /// Returns the response of a call's own request; `nil` if there is none, or if a step has asked another service, which is the one that
    /// refuses.
    fileprivate func response(ofCall id: UInt64) -> Response? {
        guard let response = (self as? TrellisError)?.response, response.metrics.callID == id else { return nil }
        return response
    }
}
