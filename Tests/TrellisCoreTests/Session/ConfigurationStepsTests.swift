import HTTPTypes
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// The steps of a configuration that have a name of their own.
@Suite(.timeLimit(.minutes(3)))
struct ConfigurationStepsTests {
    private static let origin = "https://a.example"
    private static let basic = "Basic YWRhOnNlY3JldA=="

    /// Returns the `Authorization` field that a session with the configuration sends.
    private static func sent(_ configuration: SessionConfiguration) async throws -> String? {
        let transport = MockTransport { _ in MockResponse() }
        _ = try await Session(configuration: configuration, transport: transport).data("\(origin)/")
        return transport.requests.first?.request.headers[.authorization]
    }

    @Test func theyAreThePropertiesOfTheSteps() {
        var configuration = SessionConfiguration()
        #expect(configuration.cookies == nil && configuration.cache == nil && configuration.redirects == nil)
        let (jar, cache) = (CookieJar(), HTTPCache())
        configuration.cookies = jar
        configuration.cache = cache
        configuration.redirects = RedirectPolicy(maximumRedirects: 3)
        #expect(configuration.steps.cookies as? CookieJar === jar && configuration.steps.cache as? HTTPCache === cache)
        #expect(configuration.steps.redirects?.maximumRedirects == 3)
        configuration.steps = Steps()
        #expect(configuration.cookies == nil && configuration.cache == nil && configuration.redirects == nil)
    }

    // MARK: Retries

    @Test func aRetryPolicyRetries() async throws {
        let transport = MockTransport(responses: [MockResponse(status: 503), MockResponse(status: 200)])
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy(retryLimit: 1, exponentialBackoffScale: .zero)
        let (_, response) = try await Session(configuration: configuration, transport: transport).data(
            "\(Self.origin)/")
        #expect(response.status == .ok && response.metrics.attemptCount == 2)
    }

    @Test(arguments: [true, false])
    func aNewRetryPolicyReplacesAllOthersWhereTheFirstIs(_ isNil: Bool) {
        var configuration = SessionConfiguration()
        #expect(configuration.retry == nil)
        let own = Retrier { _, _ in .doNotRetry }
        configuration.steps.retriers.append(RetryPolicy(retryLimit: 1))
        configuration.steps.retriers.append(own)
        configuration.steps.intercept(with: RetryPolicy(retryLimit: 2))
        #expect(configuration.retry?.retryLimit == 1)
        configuration.retry = isNil ? nil : RetryPolicy(retryLimit: 7)
        #expect(configuration.retry?.retryLimit == (isNil ? nil : 7))
        let retriers = configuration.steps.retriers.map { $0 is Retrier }
        #expect(retriers == (isNil ? [true] : [false, true]))
        #expect(configuration.steps.adapters.count == (isNil ? 0 : 1))
    }

    @Test func aRetryPolicyCanBeChangedInPlace() {
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy()
        configuration.retry?.retryLimit = 5
        #expect(configuration.retry?.retryLimit == 5 && configuration.steps.retriers.count == 1)
    }

    // MARK: Authentication

    @Test func eachWayAuthenticates() async throws {
        var credentials = OriginCredentials()
        try credentials.set(.bearer("b"), for: Self.origin)
        let ways: [(Authentication, String?)] = [
            (try .basic("ada", "secret", origin: Self.origin), Self.basic),
            (try .bearer("a", origin: Self.origin), "Bearer a"), (try .bearer("a", origin: "https://b.example"), nil),
            (.origins(credentials), "Bearer b"),
            (.netrc(try Netrc(parsing: "machine a.example login ada password secret")), Self.basic),
            (.interceptor(AuthenticationInterceptor(authenticator: Renewing(), credential: Token())), "Bearer c"),
        ]
        for (way, field) in ways {
            var configuration = SessionConfiguration()
            configuration.authentication = way
            #expect(try await Self.sent(configuration) == field)
        }
    }

    @Test(arguments: [true, false])
    func aChallengeIsAnswered(_ isDigest: Bool) async throws {
        let challenge = isDigest ? #"Digest realm="r", nonce="n", qop="auth""# : #"Basic realm="r""#
        let transport = MockTransport { request in
            guard request.request.headers[.authorization] == nil else { return MockResponse() }
            return MockResponse(status: 401, headers: [.wwwAuthenticate: challenge])
        }
        var configuration = SessionConfiguration()
        configuration.authentication =
            isDigest
            ? try .digest("ada", "secret", origin: Self.origin) : try .password("ada", "secret", origin: Self.origin)
        let (_, response) = try await Session(configuration: configuration, transport: transport).data(
            "\(Self.origin)/")
        #expect(response.status == .ok && transport.requests.count == 2)
        let field = try #require(transport.requests.last?.request.headers[.authorization])
        #expect(isDigest ? field.hasPrefix("Digest ") : field == Self.basic)
    }

    /// There is one slot: the last value counts, wherever its step belongs, and steps of the user's stay.
    @Test func aNewWayReplacesAllOthers() async throws {
        var configuration = SessionConfiguration()
        #expect(configuration.authentication == nil)
        let own = Adapter { request, _ in request.withHeader(.userAgent, "own") }
        configuration.steps.adapters = [own, BearerAuthentication(token: "a")]
        configuration.steps.network = [DigestAuthentication(username: "ada", password: "secret")]
        configuration.steps.intercept(with: AuthenticationInterceptor(authenticator: Renewing(), credential: Token()))
        #expect(configuration.authentication?.step is BearerAuthentication)
        configuration.authentication = try .basic("ada", "secret", origin: Self.origin)
        #expect(configuration.steps.adapters.count == 2 && configuration.steps.adapters.first is Adapter)
        #expect(configuration.steps.network.isEmpty && configuration.steps.retriers.isEmpty)
        #expect(try await Self.sent(configuration) == Self.basic)
        configuration.authentication = try .digest("ada", "secret", origin: Self.origin)
        #expect(configuration.steps.adapters.count == 1 && configuration.steps.network.count == 1)
        #expect(configuration.authentication?.step is DigestAuthentication)
        configuration.authentication = nil
        #expect(configuration.authentication == nil && configuration.steps.adapters.count == 1)
        #expect(try await Self.sent(configuration) == nil)
    }

    @Test func anOriginThatIsNoneIsAnError() {
        #expect(throws: TrellisError.self) { try Authentication.bearer("a", origin: "/relative") }
    }

    @Test func theSecretIsNotShown() throws {
        let way = try Authentication.basic("ada", "secret", origin: Self.origin)
        var text = ""
        dump(way, to: &text)
        #expect(!"\(way)".contains("secret") && !text.contains("secret"))
    }

    private struct Token: AuthenticationCredential {
        let requiresRefresh = false
    }

    private struct Renewing: Authenticator {
        func apply(_ credential: Token, to request: inout Request) async throws {
            request = request.withAuthorization(bearerToken: "c")
        }

        func refresh(_ credential: Token, using session: RefreshSession) async throws -> Token { credential }
    }
}
