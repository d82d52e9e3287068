import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Redirects that a session follows, with every verb.
@Suite(.timeLimit(.minutes(1)))
struct RedirectStepTests {
    /// Returns redirects by the path of a request: `/301/next` leads to `/next`.
    private static func site(_ request: TransportRequest) -> MockResponse {
        let path = request.url.split(separator: "/", maxSplits: 2).dropFirst(2).first ?? ""
        let parts = path.split(separator: "/", maxSplits: 1)
        guard let status = parts.first.flatMap({ Int($0) }), parts.count == 2 else { return .text("at /\(path)") }
        let to = parts[1].hasPrefix("http") ? String(parts[1]) : "/\(parts[1])"
        return MockResponse(status: status, headers: [.location: to], body: Data("elsewhere".utf8))
    }

    private static var oneRedirect: RedirectPolicy {
        var policy = RedirectPolicy()
        policy.maximumRedirects = 1
        return policy
    }

    private let transport = MockTransport { site($0) }
    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration, transport: transport)
    }

    private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    @Test func everyVerbFollows() async throws {
        let session = session()
        let url = "http://a.example/302/307/end"
        let hops = [
            Redirect(status: .found, from: url, to: "http://a.example/307/end"),
            Redirect(status: .temporaryRedirect, from: "http://a.example/307/end", to: "http://a.example/end"),
        ]
        let (data, response) = try await session.data(url)
        #expect(text(data) == "at /end")
        #expect(response.redirects.map(\.to) == hops.map(\.to))
        #expect(response.redirects.map(\.status.code) == [302, 307])
        #expect(response.url == "http://a.example/end")
        #expect(response.metrics.attemptCount == 1)
        #expect(try await session.string(url) == "at /end")
        let handle = session.request(url)
        #expect(try await handle.string() == "at /end")
        #expect(try await handle.response(of: .string).redirects.count == 2)
        let stream = try await session.stream(url)
        #expect(stream.response.redirects.count == 2)
        #expect(text(try await stream.chunks.collect(upTo: 100)) == "at /end")
        try await transport.waitUntilIdle()
        #expect(transport.startedCount == 12)
        #expect(transport.cancelledCount == 0)
    }

    @Test func whoDoesNotFollowGetsTheRedirect() async throws {
        let session = session { $0.steps.redirectHandler = .doNotFollow }
        let (data, response) = try await session.data("http://a.example/302/end")
        #expect(response.status == .found)
        #expect(text(data) == "elsewhere")
        #expect(transport.startedCount == 1)
        // The request's own handler replaces the session's.
        let (followed, _) = try await session.data(
            Request("http://a.example/302/end").withRedirectHandler(.follow))
        #expect(text(followed) == "at /end")
    }

    @Test func theLimitIsAnErrorWithTheResponse() async {
        let session = session { $0.steps.redirects = Self.oneRedirect }
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/302/302/end") }
        #expect(error?.kind == .tooManyRedirects)
        #expect(error?.response?.redirects.count == 1)
    }

    @Test func theSessionsSecretsStayWithTheirOrigin() async throws {
        let session = session {
            $0.defaultHeaders = [.authorization: "Basic c2VjcmV0", .accept: "text/plain"]
        }
        _ = try await session.data(
            Request("http://a.example/302/http://b.example/end").withHeader(.cookie, "own=1"))
        let fields = transport.requests.map(\.request.headers)
        #expect(fields.map { $0[.authorization] } == ["Basic c2VjcmV0", nil])
        #expect(fields.map { $0[.cookie] } == ["own=1", nil])
        #expect(fields.map { $0[.accept] } == ["text/plain", "text/plain"])
    }

    @Test func aBodyGoesAlongWhereTheStatusSaysSoAndItCan() async throws {
        let session = session()
        _ = try await session.upload(Data("body".utf8), to: "http://a.example/307/303/end")
        #expect(transport.requests.map(\.request.method) == [.post, .post, .get])
        #expect(transport.requests.map(\.bodyData) == [Data("body".utf8), Data("body".utf8), nil])
        let once = AsyncStream<Data> { source in
            source.yield(Data("once".utf8))
            source.finish()
        }
        let error = await #expect(throws: TrellisError.self) {
            try await session.upload(once, to: "http://a.example/307/end")
        }
        #expect(error?.kind == .bodyNotReplayable)
    }

    @Test func oneDeadlineCoversAllHops() async throws {
        let clock = TestClock()
        let transport = ScriptedTransport(clock: clock)
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(total: .seconds(10))
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let answer = Task { try await session.data("http://a.example/") }
        let first = try await transport.nextAttempt()
        first.connect()
        await session.settle()
        clock.advance(by: .seconds(6))
        first.receiveHead(status: 302, headers: [.location: "/next"])
        first.end()
        let second = try await transport.nextAttempt()
        second.connect()
        await session.settle()
        clock.advance(by: .seconds(4))
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .deadline)
        #expect(error?.elapsed == .seconds(10))
    }

    @Test func observersSeeTheHops() async throws {
        let session = session()
        let events = session.requestEvents
        _ = try await session.data("http://a.example/301/end")
        var kinds: [String] = []
        for await event in events {
            switch event.kind {
            case .queued(let request): kinds.append("queued \(request.url)")
            case .redirected(let redirect): kinds.append("redirected \(redirect.status.code) \(redirect.to)")
            case .finished(let response): kinds.append("finished \(response.status.code)")
            default: continue
            }
            if case .finished = event.kind { break }
        }
        #expect(
            kinds == [
                "queued http://a.example/301/end", "redirected 301 http://a.example/end",
                "queued http://a.example/end", "finished 200",
            ])
    }

    @Test func sessionsWithTheSameJarShareItsCookies() async throws {
        let jar = CookieJar()
        let transport = MockRouter()
        transport.route(.get, "/set").respond(with: MockResponse(headers: [.setCookie: "shared=1; Path=/"]))
        transport.route(.get, "/").respond { match in .text(match.request["Cookie"] ?? "none") }
        var configuration = SessionConfiguration()
        configuration.steps.cookies = jar
        let sessions = (0..<2).map { _ in Session(configuration: configuration, transport: transport) }
        _ = try await sessions[0].data("http://a.example/set")
        #expect(text(try await sessions[1].data("http://a.example/").0) == "shared=1")
        #expect(text(try await sessions[1].data("http://b.example/").0) == "none")
        #expect(text(try await Session(transport: transport).data("http://a.example/").0) == "none")
    }

    @Test func cookiesOfAHopAreSentWithTheNext() async throws {
        let transport = MockRouter()
        transport.route(.get, "/login").respond(
            with: MockResponse(status: 303, headers: [.location: "/home", .setCookie: "session=1; Path=/"]))
        transport.route(.get, "/home").respond { match in .text(match.request["Cookie"] ?? "none") }
        var configuration = SessionConfiguration()
        configuration.steps.cookies = CookieJar()
        let session = Session(configuration: configuration, transport: transport)
        #expect(text(try await session.data("http://a.example/home").0) == "none")
        #expect(text(try await session.data("http://a.example/login").0) == "session=1")
        let request = Request("http://a.example/home").withHeader(.cookie, "own=2")
        #expect(text(try await session.data(request).0) == "own=2; session=1")
        #expect(text(try await session.data("http://b.example/home").0) == "none")
    }
}
