import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore
@testable import TrellisUpgrades

/// The requests of a session with an HSTS store.
@Suite(.timeLimit(.minutes(3)))
struct HSTSCallTests {
    private static let field = HTTPField(name: .strictTransportSecurity, value: "max-age=100; includeSubDomains")

    private let store = HSTSStore()

    /// Returns a session whose transport asks for https in each response. The path `/to/…` is redirected to what follows.
    private func session(
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> (Session, MockTransport) {
        var configuration = SessionConfiguration()
        configuration.hsts = store
        change(&configuration)
        let transport = MockTransport { request in
            var response = MockResponse.text(request.url)
            if request.path.hasPrefix("/to/") {
                response = MockResponse(
                    status: 307, headers: [.location: String(request.path.dropFirst(4))], body: Data())
            }
            let headers = response.head.headers + [Self.field]
            response.head = ResponseHead(status: response.head.status, headers: headers)
            return response
        }
        return (Session(configuration: configuration, transport: transport), transport)
    }

    private func urls(_ transport: MockTransport) -> [String] { transport.requests.map(\.url) }

    private func know(_ host: String) async throws { await store.insert(try #require(HSTSHost(name: host))) }

    @Test func aHostThatHasAskedIsReachedOverHTTPS() async throws {
        let (session, transport) = session()
        for url in ["http://a.example/1", "https://a.example/2", "http://a.example/3", "http://b.a.example:81/4"] {
            _ = try await session.data(url)
        }
        #expect(
            urls(transport) == [
                "http://a.example/1", "https://a.example/2", "https://a.example/3", "https://b.a.example:81/4",
            ])
        let (_, response) = try await session.data("http://a.example/5")
        #expect(response.url == "https://a.example/5")
        #expect(response.redirects.isEmpty)
    }

    @Test func everyVerbAndHandleIsChanged() async throws {
        let (session, transport) = session()
        try await know("a.example")
        _ = try await session.string("http://a.example/1")
        _ = try await session.stream("http://a.example/2").chunks.collect(upTo: 100)
        _ = try await session.request("http://a.example/3").data()
        _ = try await session.upload(.data(Data("x".utf8)), to: "http://a.example/4")
        #expect(urls(transport) == (1...4).map { "https://a.example/\($0)" })
    }

    @Test func nothingIsLearnedWithoutVerification() async throws {
        let (session, transport) = session { $0.tls = .insecureWithoutAnyVerification() }
        _ = try await session.data("https://a.example/1")
        _ = try await session.data("http://a.example/2")
        #expect(urls(transport) == ["https://a.example/1", "http://a.example/2"])
        #expect(await store.hosts.isEmpty)
    }

    /// Adapters, cookies and credentials get the URL that is requested.
    @Test func stepsSeeTheChangedURL() async throws {
        try await know("a.example")
        let seen = Locked<[String]>([])
        let jar = CookieJar()
        await jar.store(["id=1; Secure"], from: "https://a.example/")
        let (session, transport) = session { configuration in
            configuration.steps.cookies = jar
            configuration.steps.adapters.append(
                Adapter { request, _ in
                    seen.withLock { $0.append(request.url) }
                    return request
                })
        }
        _ = try await session.data("http://a.example/1")
        _ = try await session.stream("http://a.example/2").chunks.collect(upTo: 100)
        #expect(seen.withLock { $0 } == ["https://a.example/1", "https://a.example/2"])
        #expect(transport.requests.map { $0["Cookie"] } == ["id=1", "id=1"])
    }

    /// A URL that a step or a redirect handler has written is changed too.
    @Test func theURLsOfStepsAreChanged() async throws {
        try await know("a.example")
        let (session, transport) = session { configuration in
            configuration.steps.adapters.append(
                Adapter { request, _ in
                    var request = request
                    request.url = request.url.replacingOccurrences(of: "first", with: "a.example")
                    return request
                })
            configuration.steps.redirectHandler = Redirector.modify { request, _ in
                var request = request
                request.url = request.url.replacingOccurrences(of: "second", with: "a.example")
                return request
            }
        }
        _ = try await session.data("http://first/1")
        let (_, response) = try await session.data("http://other/to/http://second/2")
        #expect(response.redirects.map(\.to) == ["https://a.example/2"])
        let other = "http://other/to/http://second/2"
        #expect(urls(transport) == ["https://a.example/1", other, "https://a.example/2"])
    }

    /// The origin stays the same if a server leads to http: the credentials go along, and the redirect is no downgrade.
    @Test func aRedirectToHTTPIsChanged() async throws {
        let (session, transport) = session()
        var request = Request("https://a.example/to/http://a.example/x")
        request.headers[.authorization] = "Bearer 1"
        let events = Locked<[String]>([])
        let watch = Task { [all = session.requestEvents] in
            for await event in all {
                if case .upgraded(let request) = event.kind { events.withLock { $0.append(request.url) } }
                if case .finished = event.kind { break }
            }
        }
        let (_, response) = try await session.data(request)
        await watch.value
        #expect(response.url == "https://a.example/x")
        #expect(response.redirects.map(\.to) == ["https://a.example/x"])
        #expect(response.redirects.map(\.isUpgraded) == [true])
        #expect(transport.requests.last?["Authorization"] == "Bearer 1")
        #expect(events.withLock { $0 } == ["https://a.example/x"])
    }

    /// The field of the redirect itself counts, although its host was not known before (RFC 6797, section 8.3).
    @Test(arguments: ["data", "stream", "handle", "observed", "retriers", "network", "cache"])
    func aHostIsKnownFromTheRedirectOn(_ way: String) async throws {
        let (session, transport) = session {
            switch way {
            case "observed": $0.eventMonitors.append(ClosureEventMonitor { _ in })
            case "retriers": $0.steps.retriers.append(RetryPolicy())
            case "network": $0.steps.network.append(DigestAuthentication(username: "a", password: "b"))
            case "cache": $0.steps.cache = HTTPCache()
            default: break
            }
        }
        let url = "https://a.example/to/http://a.example/x"
        let response =
            switch way {
            case "stream": try await session.stream(url).response
            case "handle": try await session.request(url).response(of: .data).response
            default: try await session.data(url).1
            }
        #expect(response.url == "https://a.example/x")
        #expect(urls(transport) == ["https://a.example/to/http://a.example/x", "https://a.example/x"])
    }

    @Test func aServerThatLeadsBackToHTTPMakesALoop() async throws {
        let transport = MockTransport { request in
            MockResponse(
                status: 301,
                headers: [.location: "http://a.example/", .strictTransportSecurity: "max-age=100"], body: Data())
        }
        var configuration = SessionConfiguration()
        configuration.hsts = store
        let session = Session(configuration: configuration, transport: transport)
        for _ in 1...2 {
            let error = await #expect(throws: TrellisError.self) { try await session.data("https://a.example/") }
            #expect(error?.kind == .tooManyRedirects)
        }
        #expect(transport.requests.allSatisfy { $0.url == "https://a.example/" })
    }

    @Test func theChangeIsAnEvent() async throws {
        try await know("a.example")
        let (session, _) = session()
        var words: [String] = []
        let events = session.requestEvents
        _ = try await session.data("http://u:secret@a.example/?q")
        for await event in events {
            words.append(event.logLine())
            if case .finished = event.kind { break }
        }
        #expect(words.count { $0.contains("upgraded") } == 1)
        #expect(words[1].contains("upgraded to https by HSTS as GET https://"))
        #expect(!words.joined().contains("secret"))
    }

    @Test func theHostsOfAFileAreKnownFromTheFirstRequestOn() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Data("a.example \"unlimited\"\n".utf8), to: "hsts.txt")
        let file = HSTSStore(file: folder.path("hsts.txt"))
        let (session, transport) = session { $0.hsts = file }
        try await withThrowingTaskGroup { group in
            for number in 1...4 { group.addTask { _ = try await session.data("http://a.example/\(number)") } }
            try await group.waitForAll()
        }
        _ = try await session.data("https://b.example/5")
        #expect(urls(transport).allSatisfy { $0.hasPrefix("https://") })
        // The shutdown writes the changes.
        await session.shutdown()
        let text = String(decoding: folder.content("hsts.txt") ?? Data(), as: UTF8.self)
        #expect(text.contains("\n.b.example \""))
    }

    /// A retry is sent to the URL that was changed, and not changed twice.
    @Test func aRetryIsSentOverHTTPS() async throws {
        try await know("a.example")
        let transport = MockTransport { request in MockResponse(status: request.url.contains("x") ? 503 : 200) }
        var configuration = SessionConfiguration()
        configuration.hsts = store
        configuration.steps.intercept(with: RetryPolicy(retryLimit: 2, exponentialBackoffScale: .zero))
        let session = Session(configuration: configuration, transport: transport)
        let (_, response) = try await session.data("http://a.example:8080/x")
        #expect(response.status == .serviceUnavailable)
        #expect(urls(transport) == Array(repeating: "https://a.example:8080/x", count: 3))
    }
}
