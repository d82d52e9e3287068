import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// Bodies in memory of responses after which the call continues: redirects, challenges, and responses that are retried. The limit on
/// bodies is a limit on the final one.
@Suite(.timeLimit(.minutes(3)))
struct FollowedBodyTests {
    private struct Broken: Error {}

    private static let url = "http://a.example/"
    private static let page = Data(repeating: 0x78, count: 5_000)
    private static let redirect = MockResponse(status: 302, headers: [.location: "/next"], body: page)

    private func session(
        _ answers: [MockResponse], limit: Int = 1_000, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> (Session, MockTransport) {
        let transport = MockTransport(responses: answers)
        var configuration = SessionConfiguration()
        configuration.maximumBodySize = .bytes(limit)
        change(&configuration)
        return (Session(configuration: configuration, transport: transport), transport)
    }

    private static func retrying(_ configuration: inout SessionConfiguration) {
        configuration.steps.retriers.append(RetryPolicy(random: { 0 }))
    }

    @Test(arguments: ["none", "retriers", "cookies", "cache", "handler", "monitor", "network"])
    func theBodyOfARedirectDoesNotCount(steps: String) async throws {
        let (session, transport) = session([Self.redirect, .text("there")]) {
            switch steps {
            case "retriers": Self.retrying(&$0)
            case "cookies": $0.steps.cookies = CookieJar()
            case "cache": $0.steps.cache = HTTPCache()
            case "handler": $0.steps.redirectHandler = .follow
            case "monitor": $0.eventMonitors.append(EventWords())
            case "network": $0.steps.network.append(DigestAuthentication(username: "a", password: "b"))
            default: break
            }
        }
        let (data, response) = try await session.data(Self.url)
        #expect(data == Data("there".utf8))
        #expect(response.redirects.count == 1)
        #expect(try await session.request(Self.url).data() == Data("there".utf8))
        #expect(transport.requests.count >= 3)
    }

    @Test func aShortBodyOfARedirectKeepsItsConnection() async throws {
        let (session, transport) = session([Self.redirect, .text("there")])
        _ = try await session.data(Self.url)
        try await transport.waitUntilIdle()
        #expect(transport.cancelledCount == 0)
    }

    @Test func ofALongBodyOfARedirectOnlyTheBeginningIsRead() async throws {
        let endless = MockResponse(status: 307, headers: [.location: "/next"]) { writer in
            while true { try await writer.write(Data(repeating: 0x78, count: 16 << 10)) }
        }
        let (session, transport) = session([endless, .text("there")], limit: 64 << 20)
        #expect(try await session.string(Self.url) == "there")
        try await transport.waitUntilIdle()
        #expect(transport.cancelledCount == 1)
    }

    /// A body that breaks off or cannot be decoded does not matter if nobody gets it, and is not stored.
    @Test(arguments: [false, true])
    func aRedirectWithABrokenBodyIsFollowed(isCached: Bool) async throws {
        let broken = MockResponse(status: 301, headers: [.location: "/next", .cacheControl: "max-age=60"]) { writer in
            try await writer.write(Data("<html>".utf8))
            throw Broken()
        }
        let cache = HTTPCache()
        let (session, transport) = session([broken, .text("there"), broken, .text("there")]) {
            if isCached { $0.steps.cache = cache }
        }
        for _ in 1...2 { #expect(try await session.string(Self.url) == "there") }
        #expect(transport.requests.count == 4)
    }

    @Test func aStoredRedirectIsFollowedWhateverItsBody() async throws {
        let stored = MockResponse(
            status: 301, headers: [.location: "/next", .cacheControl: "max-age=60", .contentEncoding: "gzip"],
            body: Data("no gzip".utf8))
        let (session, transport) = session([stored, .text("there")]) { $0.steps.cache = HTTPCache() }
        for _ in 1...2 { #expect(try await session.string(Self.url) == "there") }
        #expect(transport.requests.map { $0.request.url }.filter { $0 == Self.url }.count == 1)
    }

    @Test(arguments: [false, true])
    func aRedirectThatAHandlerMakesFinalHasTheLimit(isCached: Bool) async throws {
        let (session, _) = session([Self.redirect]) {
            $0.steps.redirectHandler = .doNotFollow
            if isCached { $0.steps.cache = HTTPCache() }
        }
        let error = await #expect(throws: TrellisError.self) { try await session.data(Self.url) }
        #expect(error?.reason == .invalidResponse(.bodyTooLarge(limit: 1_000)))
    }

    @Test(arguments: [false, true])
    func theBodyOfAResponseThatIsRetriedDoesNotCount(isCached: Bool) async throws {
        let (session, transport) = session([MockResponse(status: 503, body: Self.page), .text("there")]) {
            Self.retrying(&$0)
            if isCached { $0.steps.cache = HTTPCache() }
        }
        #expect(try await session.data(Self.url).0 == Data("there".utf8))
        #expect(transport.requests.count == 2)
    }

    @Test func aDecodedBodyThatIsRetriedDoesNotCountEither() async throws {
        let coded = try Data(#require(ContentEncoder(.gzip)).encode(Self.page, isLast: true))
        let answer = MockResponse(status: 503, headers: [.contentEncoding: "gzip"], body: coded)
        let (session, transport) = session([answer, .text("there")]) {
            Self.retrying(&$0)
            $0.steps.cache = HTTPCache()
        }
        #expect(try await session.data(Self.url).0 == Data("there".utf8))
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [false, true])
    func theBodyOfAStoredResponseThatIsRetriedDoesNotCount(isCoded: Bool) async throws {
        let coded = isCoded ? try Data(#require(ContentEncoder(.gzip)).encode(Self.page, isLast: true)) : Self.page
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        if isCoded { fields[.contentEncoding] = "gzip" }
        let stored = MockResponse(status: 404, headers: fields, body: coded)
        let cache = HTTPCache()
        let (session, transport) = session([stored, .text("there")]) { $0.steps.cache = cache }
        for try await _ in try await session.stream(Self.url).chunks {}
        #expect(transport.requests.count == 1)
        let request = Request(Self.url).withSteps {
            $0.retriers.append(
                Retrier { attempt, _ in
                    guard attempt.response?.status.code == 404 else { return .doNotRetry }
                    try? await cache.remove(Self.url)
                    return .retry
                })
        }
        #expect(try await session.string(request) == "there")
    }

    @Test(arguments: [false, true])
    func theLastResponseHasTheLimit(isHandle: Bool) async throws {
        let (session, transport) = session([MockResponse(status: 503, body: Self.page)], Self.retrying)
        let error = await #expect(throws: TrellisError.self) {
            _ = isHandle ? try await session.request(Self.url).data() : try await session.data(Self.url).0
        }
        #expect(error?.reason == .invalidResponse(.bodyTooLarge(limit: 1_000)))
        #expect(error?.url == Self.url && error?.method == .get)
        #expect(transport.requests.count == 3)
    }

    @Test func theBodyOfAChallengeDoesNotCount() async throws {
        let challenge = MockResponse(
            status: 401, headers: [.wwwAuthenticate: "Digest realm=\"r\", nonce=\"1\", qop=\"auth\""], body: Self.page)
        let (session, transport) = session([challenge, .text("there")]) {
            $0.steps.network.append(DigestAuthentication(username: "a", password: "b"))
        }
        #expect(try await session.data(Self.url).0 == Data("there".utf8))
        #expect(transport.requests.count == 2)
    }

    /// A step that makes another response of the one it gets must not take the beginning of a body for the whole.
    @Test func aStepThatMayReplaceResponsesGetsNoCutBody() async throws {
        struct Passing: RequestStep {
            func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
                let answer = try await next(request)
                return StepResponse(to: request, status: .ok, body: answer.data ?? Data())
            }
        }
        let (session, _) = session([MockResponse(status: 503, body: Self.page)]) {
            $0.steps.network.append(Passing())
        }
        let error = await #expect(throws: TrellisError.self) { try await session.data(Self.url) }
        #expect(error?.reason == .invalidResponse(.bodyTooLarge(limit: 1_000)))
    }
}
