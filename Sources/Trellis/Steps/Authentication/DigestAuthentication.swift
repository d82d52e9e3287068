import CurlEngine
import FoundationEssentials
import HTTPTypes

/// Digest authentication (RFC 7616): the password is never sent, only proved to be known.
///
/// ```swift
/// configuration.steps.aroundHop.append(
///     try DigestAuthentication(username: "ada", password: password, origin: "https://api.example.com"))
/// ```
///
/// It stands around each request on the wire, so that redirects are authenticated each for its own path. The first request to
/// an origin is refused and sent again with an answer to the challenge; those that follow are sent with an answer at once. All
/// algorithms of the RFC are known, with and without `-sess`: MD5, SHA-256 and SHA-512-256, which are those of the OpenSSL that
/// libcurl uses; without one, or where it keeps to FIPS 140, challenges are not answered. A body is protected (`auth-int`) only
/// where the server insists on it: it is then read twice. The server's own proof (`rspauth`) is not looked at.
///
/// A request with an `Authorization` field or with a name and password in its URL keeps its own. One whose body cannot be sent
/// again fails with an error of kind ``TrellisError/Kind/bodyNotReplayable`` if it is refused.
public final class DigestAuthentication: AnswerForwardingStep, RedactedDescription {
    private let username: String
    private let password: String
    /// `nil`: that of each call's own URL.
    private let origin: String?
    private let memory: DigestMemory
    private let targets = CredentialTargets()

    /// For a single request, or for a session whose requests all go to one party: whoever asks is answered, unless it is another
    /// origin to which a redirect has led. Whoever is answered can try out passwords until one fits.
    public convenience init(username: String, password: String) {
        self.init(username, password, origin: nil, makeNonce: Self.makeNonce)
    }

    /// For the requests to one origin.
    ///
    /// - Parameter origin: A URL whose scheme, host and port count.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` where it has none.
    public convenience init(username: String, password: String, origin: some URLConvertible) throws {
        let origin = try CredentialTargets.origin(of: origin)
        self.init(username, password, origin: origin, makeNonce: Self.makeNonce)
    }

    init(_ username: String, _ password: String, origin: String?, makeNonce: @escaping @Sendable () -> String) {
        self.username = username
        self.password = password
        self.origin = origin
        memory = DigestMemory(makeNonce: makeNonce)
    }

    /// Sends the request, with an answer to the challenge that is known or comes.
    public func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard !request.headerFields.contains(.authorization), !URLRedaction.hasUserInformation(request.url) else {
            return try await next(request)
        }
        try CredentialText.check(digestName: username, for: request)
        var (authorized, space) = try await ahead(of: request, context) ?? (request, nil)
        var answer = try await next(authorized)
        // At most twice: with the nonce of the challenge, and with another if that was out of date by then.
        for isFirst in [true, false] {
            guard answer.response.status.code == 401,
                let challenge = DigestChallenge.first(in: answer.response.authenticationChallenges),
                let url = targets.url(answer.response.url), mayAnswer(url, context),
                isWorthAnswering(challenge, after: space, wasAhead: isFirst)
            else { break }
            let hasFinalURLs = targets.url(request.url)?.text == url.text
            let known = await memory.answer(challenge, for: url.origin, hasFinalURLs: hasFinalURLs)
            guard let known, let again = try await authorize(request, url, known) else { break }
            guard request.body?.isReplayable ?? true else {
                throw FailedAttempt(request: request, response: answer.response).isNotReplayable
            }
            await answer.discard(context)
            (authorized, space) = (again, known)
            answer = try await next(authorized)
        }
        await remember(answer.response, space)
        return answer
    }

    /// What has been refused once is refused again, unless it was but out of date. One that was sent before it was asked for may
    /// be out of date without the server's saying so: it may have been started anew.
    private func isWorthAnswering(_ challenge: DigestChallenge, after space: DigestSpace?, wasAhead: Bool) -> Bool {
        guard let space else { return true }
        return !challenge.nonce.hasSameBytes(as: space.nonce) && (challenge.isStale || wasAhead)
    }

    private func mayAnswer(_ url: WireURL, _ context: CallContext) -> Bool {
        if let origin { return origin == url.origin }
        guard let first = context.redirects.first else { return true }
        return targets.url(first.from)?.origin == url.origin
    }

    private func ahead(of request: Request, _ context: CallContext) async throws -> (Request, DigestSpace?)? {
        guard let url = targets.url(request.url), mayAnswer(url, context),
            let space = await memory.next(for: url.origin), let authorized = try await authorize(request, url, space)
        else { return nil }
        return (authorized, space)
    }

    /// `nil` where the challenge cannot be answered.
    private func authorize(_ request: Request, _ url: WireURL, _ space: DigestSpace) async throws -> Request? {
        var bodyHash: String?
        if !space.challenge.protections.isEmpty, !space.challenge.protections.contains(.method) {
            bodyHash = try await request.hashOfBody(space.challenge.algorithm.hash)
            if bodyHash == nil { return nil }
        }
        let answer = DigestAnswer(
            challenge: space.challenge, username: username, password: password, method: request.method,
            uri: String(url.text.dropFirst(url.origin.count)), session: space.session, nonce: space.nonce,
            count: space.count, bodyHash: bodyHash)
        return answer.field.map { request.withHeader(.authorization($0)) }
    }

    /// What the server says of the next request (RFC 7616, section 3.5).
    private func remember(_ response: Response, _ space: DigestSpace?) async {
        guard let space, let url = targets.url(response.url) else { return }
        // It has the grammar of a challenge's parameters.
        for value in response.headerFields[values: .authenticationInfo] {
            guard let next = AuthenticationChallenge.parse("Digest \(value)").first?.parameters["nextnonce"] else {
                continue
            }
            await memory.renew(next, after: space.nonce, for: url.origin)
        }
    }

    /// 128 random bits.
    private static func makeNonce() -> String {
        let digits = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }
        return digits.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
    }
}

extension HTTPField.Name {
    /// It is a token, so that the other name is never taken.
    fileprivate static let authenticationInfo = HTTPField.Name("Authentication-Info") ?? .wwwAuthenticate
}
