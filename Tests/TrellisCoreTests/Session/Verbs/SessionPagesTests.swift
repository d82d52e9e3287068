import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The pages of a list, each of which links to the next one.
@Suite(.timeLimit(.minutes(3)))
struct SessionPagesTests {
    private static let first = "https://a.example/items"

    /// A server whose pages link to others.
    ///
    /// - Parameter links: The targets of the links by the URLs of the pages.
    private static func server(_ links: [String: String]) -> MockTransport {
        MockTransport { request in
            var headers: HTTPFields = [.contentType: "application/json"]
            if let next = links[request.url] { headers[.link] = "<\(next)>; rel=\"next\"" }
            return MockResponse(headers: headers, body: Data("[\"\(request.url)\"]".utf8))
        }
    }

    private static func session(
        _ transport: MockTransport, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration, transport: transport)
    }

    private static func read(_ pages: PageSequence<[String]>) async throws -> [String] {
        var all: [String] = []
        for try await page in pages { all += page }
        return all
    }

    @Test func pagesAreReadToTheLast() async throws {
        let transport = Self.server([
            Self.first: "?page=2", "\(Self.first)?page=2": "/items?page=3", "\(Self.first)?page=3": "//a.example/more",
        ])
        let request = Request(Self.first).withHeader(.authorization(bearerToken: "t"))
        let pages = Self.session(transport).pages(
            of: [String].self, from: request, headers: [.accept: "application/json"])
        let expected = [Self.first, "\(Self.first)?page=2", "\(Self.first)?page=3", "https://a.example/more"]
        #expect(try await Self.read(pages) == expected)
        #expect(
            transport.requests.allSatisfy { $0["authorization"] == "Bearer t" && $0["accept"] == "application/json" })
        // Another loop begins with the first page.
        #expect(try await Self.read(pages) == expected)
    }

    @Test func noPageIsRequestedBeforeItIsAskedFor() async throws {
        let transport = Self.server([Self.first: "?page=2", "\(Self.first)?page=2": "?page=3"])
        let pages = Self.session(transport).pages(of: [String].self, from: Self.first)
        #expect(transport.requests.isEmpty)
        for try await _ in pages { break }
        #expect(transport.requests.map(\.url) == [Self.first])
    }

    // MARK: Credentials

    @Test func aPageAtAnotherOriginGetsNoCredentials() async throws {
        let other = "https://b.example/items"
        // The way back is not trusted either: the other origin has chosen it.
        let transport = Self.server([
            Self.first: other, other: "?page=2", "\(other)?page=2": "https://a.example/secrets",
        ])
        let session = Self.session(transport) {
            $0.defaultHeaders["X-API-Key"] = "default"
            $0.defaultHeaders["X-Plain"] = "kept"
            $0.defaultQueryItems = []
            $0.steps.adapters.append(BearerAuthentication(token: "adapter"))
        }
        let request = Request(Self.first).withHeader(HTTPField(name: .cookie, value: "a=b"))
        let pages = session.pages(of: [String].self, from: request)
        #expect(try await Self.read(pages).count == 4)
        let requests = transport.requests
        #expect(requests[0]["authorization"] == "Bearer adapter")
        #expect(requests[0]["cookie"] == "a=b")
        #expect(requests[0]["x-api-key"] == "default")
        for request in requests.dropFirst() {
            #expect(request["authorization"] == nil)
            #expect(request["cookie"] == nil)
            #expect(request["x-api-key"] == nil)
            #expect(request["x-plain"] == "kept")
        }
    }

    /// A session without steps sends its default fields in another way.
    @Test func defaultFieldsAndQueryItemsStayAtTheirOrigin() async throws {
        let transport = Self.server(["\(Self.first)?key=secret": "https://b.example/items"])
        let session = Self.session(transport) {
            $0.defaultHeaders[.authorization] = "Bearer default"
            $0.defaultQueryItems = [URLQueryItem(name: "key", value: "secret")]
        }
        #expect(try await Self.read(session.pages(of: [String].self, from: Self.first)).count == 2)
        #expect(transport.requests.map(\.url) == ["\(Self.first)?key=secret", "https://b.example/items"])
        #expect(transport.requests.map { $0["authorization"] } == ["Bearer default", nil])
    }

    @Test func aDigestChallengeOfAnotherOriginIsNotAnswered() async throws {
        let transport = MockTransport { request in
            guard request.url == Self.first else {
                return MockResponse(
                    status: 401, headers: [.wwwAuthenticate: #"Digest realm="r", nonce="n", qop="auth""#])
            }
            return MockResponse(
                headers: [.contentType: "application/json", .link: "<https://b.example/>; rel=next"],
                body: Data("[]".utf8))
        }
        let session = Self.session(transport) {
            $0.steps.network.append(DigestAuthentication(username: "u", password: "p"))
        }
        let error = await #expect(throws: TrellisError.self) {
            try await Self.read(session.pages(of: [String].self, from: Self.first))
        }
        #expect(error?.response?.status.code == 401)
        #expect(transport.requests.count == 2)
        #expect(transport.requests.allSatisfy { $0["authorization"] == nil })
    }

    @Test(arguments: ["Basic realm=r", #"Digest realm="r", nonce="n", qop="auth""#])
    func aChallengeAfterARedirectWithinAnotherOriginIsNotAnswered(_ challenge: String) async throws {
        let transport = MockTransport { request in
            switch request.url {
            case Self.first:
                MockResponse(
                    headers: [.contentType: "application/json", .link: "<https://b.example/1>; rel=next"],
                    body: Data("[]".utf8))
            case "https://b.example/1": MockResponse(status: 302, headers: [.location: "/2"])
            default: MockResponse(status: 401, headers: [.wwwAuthenticate: challenge])
            }
        }
        let request = Request(Self.first).respondingToChallenges(username: "u", password: "p")
        let error = await #expect(throws: TrellisError.self) {
            try await Self.read(Self.session(transport).pages(of: [String].self, from: request))
        }
        #expect(error?.response?.status.code == 401)
        #expect(transport.requests.map(\.url) == [Self.first, "https://b.example/1", "https://b.example/2"])
        #expect(transport.requests.allSatisfy { $0["authorization"] == nil })
    }

    @Test func aPageAfterARedirectToAnotherOriginGetsNoCredentials() async throws {
        let transport = MockTransport { request in
            guard request.url != Self.first else {
                return MockResponse(status: 302, headers: [.location: "https://b.example/1"])
            }
            var headers: HTTPFields = [.contentType: "application/json"]
            if request.path == "/1" { headers[.link] = "</2>; rel=next" }
            return MockResponse(headers: headers, body: Data("[\"\(request.url)\"]".utf8))
        }
        let request = Request(Self.first).withHeader(.authorization(bearerToken: "t"))
        let pages = Self.session(transport).pages(of: [String].self, from: request)
        #expect(try await Self.read(pages) == ["https://b.example/1", "https://b.example/2"])
        #expect(transport.requests.map { $0["authorization"] } == ["Bearer t", nil, nil])
    }

    /// The user information of the URL belongs to its origin, which the redirects need not leave or do.
    @Test(arguments: [("/list", true), ("https://b.example/list", false)])
    func userInformationStaysAfterARedirectWithinTheOrigin(_ target: String, _ stays: Bool) async throws {
        let transport = MockTransport { request in
            guard request.url != Self.first else { return MockResponse(status: 301, headers: [.location: target]) }
            var headers: HTTPFields = [.contentType: "application/json"]
            if request.path == "/list" { headers[.link] = "</more>; rel=next" }
            return MockResponse(headers: headers, body: Data("[]".utf8))
        }
        let pages = Self.session(transport).pages(of: [String].self, from: "https://u:p@a.example/items")
        #expect(try await Self.read(pages).isEmpty)
        let requests = transport.requests
        #expect(requests.map(\.path) == ["/items", "/list", "/more"])
        #expect(requests.map { $0["authorization"] == "Basic dTpw" } == [true, stays, stays])
    }

    // MARK: Ends

    @Test(arguments: [
        "https://a.example/items", "?page=1&x", "http://a.example/items?page=2", "ftp://a.example/", "https:///x",
    ])
    func aLinkThatCannotBeFollowedIsAnErrorAfterItsPage(_ link: String) async throws {
        let transport = Self.server([Self.first: link, "\(Self.first)?page=1&x": "#top"])
        var iterator = Self.session(transport).pages(of: [String].self, from: Self.first).makeAsyncIterator()
        #expect(try await iterator.next() == [Self.first])
        if link.hasPrefix("?") { #expect(try await iterator.next()?.count == 1) }
        do {
            let page = try await iterator.next()
            Issue.record("\(page ?? []) was read")
        } catch let error as TrellisError {
            #expect(error.kind == .malformedResponse)
            #expect(error.description.contains("its link to the next page"))
        }
        #expect(try await iterator.next() == nil)
    }

    @Test func aServerThatNeverEndsIsStopped() async throws {
        let transport = MockTransport { request in
            let page = Int(request.query?.dropFirst(2) ?? "") ?? 0
            return MockResponse(
                headers: [.contentType: "application/json", .link: "<?p=\(page + 1)>; rel=next"],
                body: Data("[\"\(page)\"]".utf8))
        }
        var count = 0
        let pages = Self.session(transport).pages(of: [String].self, from: Self.first, maximumPages: 5)
        let error = await #expect(throws: TrellisError.self) { for try await _ in pages { count += 1 } }
        #expect(count == 5)
        #expect(transport.requests.count == 5)
        #expect(error?.description.hasSuffix("there are more than 5 pages") == true)
    }

    @Test func aPageThatIsNotAcceptedEndsTheList() async throws {
        let transport = MockTransport(responses: [
            MockResponse(
                headers: [.contentType: "application/json", .link: "<?page=2>; rel=next"], body: Data("[]".utf8)),
            MockResponse(status: 503),
        ])
        var iterator = Self.session(transport).pages(of: [String].self, from: Self.first).makeAsyncIterator()
        #expect(try await iterator.next() == [])
        let error = await #expect(throws: TrellisError.self) { try await iterator.next() }
        #expect(error?.statusCode == 503)
        #expect(try await iterator.next() == nil)
    }

    @Test func aCancelledTaskReadsNoFurtherPage() async throws {
        let scripted = Scripted()
        let task = Task { [session = scripted.session] in
            try await Self.read(session.pages(of: [String].self, from: Self.first))
        }
        _ = try await scripted.transport.nextAttempt()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(scripted.transport.attempts.count == 1)
    }
}
