import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// Returns redirects by the path of a request: `/301/next` leads to `/next`.
private func site(_ request: TransportRequest) -> MockResponse {
    let path = request.url.split(separator: "/", maxSplits: 2).dropFirst(2).first ?? ""
    let parts = path.split(separator: "/", maxSplits: 1)
    guard let status = parts.first.flatMap({ Int($0) }), parts.count == 2 else { return .text("at /\(path)") }
    let to = parts[1].hasPrefix("http") ? String(parts[1]) : "/\(parts[1])"
    return MockResponse(status: status, headers: [.location: to], body: Data("elsewhere".utf8))
}

/// Redirects that a session follows, with every verb.
@Suite(.timeLimit(.minutes(3)), .trellis(.mock { site($0) }))
struct RedirectStepTests {
    private var session: Session { get throws { try #require(Session.current) } }
    private var transport: MockTransport { get throws { try #require(MockTransport.current) } }

    private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    /// The bodies of the redirects are waited for on the clock, which stands still.
    @Test(.trellis(.clock)) func everyVerbFollows() async throws {
        let (session, transport) = (try session, try transport)
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

    @Test(.trellis(.session { $0.steps.redirectHandler = .doNotFollow }))
    func whoDoesNotFollowGetsTheRedirect() async throws {
        let session = try session
        let (data, response) = try await session.data("http://a.example/302/end")
        #expect(response.status == .found)
        #expect(text(data) == "elsewhere")
        #expect(try transport.startedCount == 1)
        // The request's own handler replaces the session's.
        let (followed, _) = try await session.data(
            Request("http://a.example/302/end").withRedirectHandler(.follow))
        #expect(text(followed) == "at /end")
    }

    @Test(.trellis(.session { $0.steps.redirects = RedirectPolicy(maximumRedirects: 1) }))
    func theLimitIsAnErrorWithTheResponse() async throws {
        let session = try session
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/302/302/end") }
        #expect(error?.kind == .tooManyRedirects)
        #expect(error?.response?.redirects.count == 1)
    }

    @Test(.trellis(.session { $0.defaultHeaders = [.authorization: "Basic c2VjcmV0", .accept: "text/plain"] }))
    func theSessionsSecretsStayWithTheirOrigin() async throws {
        let session = try session
        _ = try await session.data(
            Request("http://a.example/302/http://b.example/end").withHeader(.cookie, "own=1"))
        let fields = try transport.requests.map(\.request.headers)
        #expect(fields.map { $0[.authorization] } == ["Basic c2VjcmV0", nil])
        #expect(fields.map { $0[.cookie] } == ["own=1", nil])
        #expect(fields.map { $0[.accept] } == ["text/plain", "text/plain"])
    }

    @Test func aBodyGoesAlongWhereTheStatusSaysSoAndItCan() async throws {
        let (session, transport) = (try session, try transport)
        _ = try await session.upload(Data("body".utf8), to: "http://a.example/307/303/end")
        #expect(transport.requests.map(\.request.method) == [.post, .post, .get])
        #expect(transport.requests.map(\.body?.data) == [Data("body".utf8), Data("body".utf8), nil])
        let once = AsyncStream<Data> { source in
            source.yield(Data("once".utf8))
            source.finish()
        }
        let error = await #expect(throws: TrellisError.self) {
            try await session.upload(once, to: "http://a.example/307/end")
        }
        #expect(error?.kind == .bodyNotReplayable)
    }

    @Test(
        .trellis(
            .clock, .faults([.always(.latency(.seconds(6), .responseHead))]),
            .session { $0.timeouts = Timeouts(total: .seconds(10)) }))
    func oneDeadlineCoversAllHops() async throws {
        let (session, clock) = (try session, try #require(TestClock.current))
        let faults = try #require(FaultTransport.current)
        let answer = Task { try await session.data("http://a.example/302/end") }
        try await faults.waitUntilFaults(count: 1)
        await session.settle()
        clock.move(by: .seconds(6))
        try await faults.waitUntilFaults(count: 2)
        await session.settle()
        clock.move(by: .seconds(4))
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.elapsed == .seconds(10))
    }

    @Test func observersSeeTheHops() async throws {
        let session = try session
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

    @Test(
        .trellis(
            .router {
                $0.route(.get, "/set").respond(with: MockResponse(headers: [.setCookie: "shared=1; Path=/"]))
                $0.route(.get, "/").respond { match in .text(match.request["Cookie"] ?? "none") }
            }))
    func sessionsWithTheSameJarShareItsCookies() async throws {
        var configuration = SessionConfiguration()
        configuration.steps.cookies = CookieJar()
        let sessions = [Session(configuration: configuration), Session(configuration: configuration)]
        _ = try await sessions[0].data("http://a.example/set")
        #expect(text(try await sessions[1].data("http://a.example/").0) == "shared=1")
        #expect(text(try await sessions[1].data("http://b.example/").0) == "none")
        #expect(text(try await Session().data("http://a.example/").0) == "none")
    }

    @Test(
        .trellis(
            .router {
                $0.route(.get, "/login").respond(
                    with: MockResponse(status: 303, headers: [.location: "/home", .setCookie: "session=1; Path=/"]))
                $0.route(.get, "/home").respond { match in .text(match.request["Cookie"] ?? "none") }
            }, .session { $0.steps.cookies = CookieJar() }))
    func cookiesOfAHopAreSentWithTheNext() async throws {
        let session = try session
        #expect(text(try await session.data("http://a.example/home").0) == "none")
        #expect(text(try await session.data("http://a.example/login").0) == "session=1")
        let request = Request("http://a.example/home").withHeader(.cookie, "own=2")
        #expect(text(try await session.data(request).0) == "own=2; session=1")
        #expect(text(try await session.data("http://b.example/home").0) == "none")
    }
}
