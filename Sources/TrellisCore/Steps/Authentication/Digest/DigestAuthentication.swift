import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A step for Digest authentication (RFC 7616), which proves that you know the password and never sends it.
///
/// ```swift
/// configuration.authentication = try .digest("ada", password, origin: "https://api.example.com")
/// ```
///
/// The step runs around each request on the wire, so that each redirect is authenticated for its own path. The first request to an origin
/// is refused and sent again with a proof; later ones carry a proof at once. All algorithms of the RFC are known, with and without `-sess`:
/// MD5, SHA-256 and SHA-512-256. They are OpenSSL's: without it, or if it keeps to FIPS 140, challenges are not answered. A body is
/// protected (`auth-int`) only if the server insists, and is then read twice. The server's own proof (`rspauth`) is not checked.
///
/// A request with an `Authorization` field, or with a password in its URL, keeps its credentials. A refused request whose body cannot be
/// sent again fails with ``TrellisError/Kind/bodyNotReplayable``.
public final class DigestAuthentication: ResponseForwardingStep, RedactedDescription {
    let username: String
    let password: String
    /// The origin whose challenges are answered; if `nil`, the origin of each call's own URL.
    private let origin: String?
    /// The challenges and counts of the origins that are known.
    private let memory: DigestSessionCache
    private let targets = CredentialTargets()

    /// Creates a step for a single request, or for a session whose requests all go to one party: every challenge is answered,
    /// except from another origin that a redirect has led to. A server that gets an answer can try out passwords until one
    /// fits.
    public convenience init(username: String, password: String) {
        self.init(username, password, origin: nil, makeNonce: Self.makeNonce)
    }

    /// Creates a step for the requests to one origin.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password.
    ///   - origin: A URL; its scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` if the URL has no origin.
    public convenience init(username: String, password: String, origin: some URLConvertible) throws {
        let origin = try CredentialTargets.origin(of: origin)
        self.init(username, password, origin: origin, makeNonce: Self.makeNonce)
    }

    init(_ username: String, _ password: String, origin: String?, makeNonce: @escaping @Sendable () -> String) {
        self.username = username
        self.password = password
        self.origin = origin
        memory = DigestSessionCache(makeNonce: makeNonce)
    }

    /// Sends the request with an answer to the challenge that is known, or that arrives with the response.
    ///
    /// - Throws: As ``NextStep/callAsFunction(_:)``.
    public func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard !request.hasCredentials, !context.hasOwnCredentials(besides: self) else { return try await next(request) }
        return try await perform(request, context: context, next: next).answer
    }

    /// Sends a request that has no credentials of its own. Returns the response, and whether its origin has been sent, now or
    /// earlier, an answer to a Digest challenge.
    func perform(
        _ request: Request, context: CallContext, next: NextStep
    ) async throws -> (answer: StepResponse, hasAnswered: Bool) {
        try CredentialText.check(digestName: username, for: request)
        var (authorized, space) = try await ahead(of: request, context) ?? (request, nil)
        var (answer, hasAnswered) = try await (next(authorized), space != nil)
        // At most twice: with the nonce of the challenge, and with another nonce if the first was out of date by then.
        for isFirst in [true, false] {
            guard answer.response.status.code == 401,
                let challenge = DigestChallenge.first(in: answer.response.authenticationChallenges),
                let url = targets.url(answer.response.url), mayAnswer(url, context),
                isWorthAnswering(challenge, after: space, wasAhead: isFirst)
            else { break }
            let hasFinalURLs = targets.url(request.url)?.text == url.text
            let known = await memory.answer(challenge, for: url.origin, hasFinalURLs: hasFinalURLs)
            guard let known, let again = try await authorize(request, at: url, with: known) else { break }
            guard request.hasReplayableBody else {
                throw FailedAttempt(request: request, response: answer.response).isNotReplayable
            }
            await answer.discard(context)
            (authorized, space, hasAnswered) = (again, known, true)
            answer = try await next(authorized)
        }
        await remember(answer.response, space)
        if !hasAnswered, let url = targets.url(answer.response.url) { hasAnswered = await memory.knows(url.origin) }
        return (answer, hasAnswered)
    }

    /// Returns whether a challenge is worth answering. Credentials that were refused once are refused again, unless only their
    /// nonce was out of date. The nonce of a request that was sent ahead of a challenge may be out of date without the server's
    /// saying so: the server may have been restarted.
    private func isWorthAnswering(_ challenge: DigestChallenge, after space: DigestSession?, wasAhead: Bool) -> Bool {
        guard let space else { return true }
        return !challenge.nonce.hasSameBytes(as: space.nonce) && (challenge.isStale || wasAhead)
    }

    /// Returns whether the challenges of a response may be answered.
    func mayAnswer(_ response: Response, _ context: CallContext) -> Bool {
        targets.url(response.url).map { mayAnswer($0, context) } ?? false
    }

    /// Returns whether a challenge from this URL's origin may be answered.
    private func mayAnswer(_ url: WireURL, _ context: CallContext) -> Bool {
        if let origin { return origin == url.origin }
        // The first redirect of a request that follows a link to another origin does not begin at the origin of the credentials.
        guard !context.call.request.hasLeftOrigin else { return false }
        guard let first = context.redirects.first else { return true }
        return targets.url(first.from)?.origin == url.origin
    }

    /// Returns the request with an answer to the challenge that is known before the request is sent; `nil` if none is.
    private func ahead(of request: Request, _ context: CallContext) async throws -> (Request, DigestSession?)? {
        guard let url = targets.url(request.url), mayAnswer(url, context),
            let space = await memory.next(for: url.origin),
            let authorized = try await authorize(request, at: url, with: space)
        else { return nil }
        return (authorized, space)
    }

    /// Returns the request with the answer in its `Authorization` field; `nil` if the challenge cannot be answered.
    private func authorize(_ request: Request, at url: WireURL, with space: DigestSession) async throws -> Request? {
        var bodyHash: String?
        if !space.challenge.protections.isEmpty, !space.challenge.protections.contains(.method) {
            bodyHash = try await request.hashOfBody(space.challenge.algorithm.hash)
            if bodyHash == nil { return nil }
        }
        let answer = DigestResponse(
            challenge: space.challenge, username: username, password: password, method: request.method,
            uri: String(url.text.dropFirst(url.origin.count)), session: space.session, nonce: space.nonce,
            count: space.count, bodyHash: bodyHash)
        return answer.field.map { request.withHeader(.authorization($0)) }
    }

    /// Stores the nonce that the server names for the next request (RFC 7616, section 3.5).
    private func remember(_ response: Response, _ space: DigestSession?) async {
        guard let space, let url = targets.url(response.url) else { return }
        // The field has the grammar of a challenge's parameters.
        for value in response.headers[values: .authenticationInfo] {
            guard let next = AuthenticationChallenge.parse("Digest \(value)").first?.parameters["nextnonce"] else {
                continue
            }
            await memory.renew(next, after: space.nonce, for: url.origin)
        }
    }

    /// Returns 128 random bits as hexadecimal digits.
    static func makeNonce() -> String {
        let digits = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }
        return digits.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
    }
}

extension HTTPField.Name {
    /// The field `Authentication-Info`. Its name is a valid token, so that the fallback is never used.
    fileprivate static let authenticationInfo = HTTPField.Name("Authentication-Info") ?? .wwwAuthenticate
}
