/// A step that proves a name and a password in the way that the server asks for: Digest (RFC 7616) or Basic (RFC 7617).
///
/// ```swift
/// configuration.authentication = try .password("ada", password, origin: "https://api.example.com")
/// ```
///
/// For a single request, use ``Request/respondingToChallenges(username:password:)``.
///
/// Nothing is sent before the server has refused a request with a challenge. The step answers Digest if the server offers it, and otherwise
/// Basic. Credentials that are refused are not sent again with the same request. After a Digest challenge, later requests to the origin
/// carry a proof at once, and the origin never gets the password, even if it asks for Basic.
///
/// Challenges of other origins and of proxies are not answered. A request with an `Authorization` field, or with a password in its URL,
/// keeps its credentials. A refused request whose body cannot be sent again fails with ``TrellisError/Kind/bodyNotReplayable``. A name with
/// a control character, or for Basic with a colon, is an error of kind ``TrellisError/Kind/invalidRequest``.
public final class PasswordAuthentication: ResponseForwardingStep, RedactedDescription {
    private let digest: DigestAuthentication

    /// Creates a step for a single request, or for a session whose requests all go to one party: every challenge is answered,
    /// except from another origin that a redirect has led to. A server that asks for Basic learns the password.
    public init(username: String, password: String) {
        digest = DigestAuthentication(username: username, password: password)
    }

    /// Creates a step for the requests to one origin.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public init(username: String, password: String, origin: some URLConvertible) throws {
        digest = try DigestAuthentication(username: username, password: password, origin: origin)
    }

    /// Sends the request, and sends it again with the credentials if the response asks for them.
    ///
    /// - Throws: As ``NextStep/callAsFunction(_:)``.
    public func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard !request.hasCredentials, !context.hasOwnCredentials(besides: self) else { return try await next(request) }
        let (answer, hasAnswered) = try await digest.perform(request, context: context, next: next)
        guard !hasAnswered, asksForBasic(answer.response), digest.mayAnswer(answer.response, context) else {
            return answer
        }
        guard request.hasReplayableBody else {
            throw FailedAttempt(request: request, response: answer.response).isNotReplayable
        }
        await answer.discard(context)
        return try await next(request.withAuthorization(username: digest.username, password: digest.password))
    }

    /// Returns whether a response asks for Basic credentials, and for no better ones that are known here.
    private func asksForBasic(_ response: Response) -> Bool {
        guard response.status.code == 401 else { return false }
        let challenges = response.authenticationChallenges
        return DigestChallenge.first(in: challenges) == nil && challenges.contains { $0.isScheme("Basic") }
    }
}

extension Request {
    /// Returns a copy that proves a name and a password when the server asks for them, by Digest (RFC 7616) or else by Basic
    /// (RFC 7617): with a ``PasswordAuthentication``, instead of one that the request has already. Nothing is sent before the
    /// server has asked, and nothing to another origin.
    ///
    /// The name and password also take the place of the session's credentials: the adapters, interceptors and steps that add
    /// credentials leave the request as it is.
    ///
    /// ``withAuthorization(username:password:)`` sends the password at once, and saves a request.
    public func respondingToChallenges(username: String, password: String) -> Request {
        withSteps { steps in
            steps.network.removeAll { $0 is PasswordAuthentication }
            steps.network.append(PasswordAuthentication(username: username, password: password))
        }
    }
}

extension CallContext {
    /// Whether the call's request has a step of its own that proves a name and a password. Adapters and interceptors
    /// add no credential to such a request, because the credential would hide the server's challenge from the step.
    var hasOwnCredentials: Bool { !ownCredentialSteps.isEmpty }

    /// Returns whether the call's request proves a name and a password with steps of its own, and a step is not one of them.
    func hasOwnCredentials(besides step: AnyObject) -> Bool {
        let steps = ownCredentialSteps
        return !steps.isEmpty && !steps.contains(ObjectIdentifier(step))
    }

    /// The steps of the call's request that prove a name and a password. The steps belong to the caller's request: the request
    /// after a redirect may have been made by a handler.
    private var ownCredentialSteps: [ObjectIdentifier] {
        guard let steps = call.request.attachedSteps?.given.network else { return [] }
        return steps.compactMap { step -> ObjectIdentifier? in
            if let step = step as? PasswordAuthentication { return ObjectIdentifier(step) }
            return (step as? DigestAuthentication).map { ObjectIdentifier($0) }
        }
    }
}
