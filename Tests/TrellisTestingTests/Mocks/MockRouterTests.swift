import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// A router responds to the requests that its test expects, and reports all others.
@Suite(.timeLimit(.minutes(3)))
struct MockRouterTests {
    // MARK: Paths

    @Test(
        arguments: [
            ("/users", "/users", [:]), ("/", "", [:]), ("users", "/users", [:]),
            ("/users/{id}", "/users/7", ["id": "7"]), ("/users/{id}", "/users/a%2Fb%20c", ["id": "a/b c"]),
            ("/{a}/{b}", "/1/2", ["a": "1", "b": "2"]), ("/{name}.json", "/a.b.json", ["name": "a.b"]),
            ("/v{major}.{minor}/x", "/v1.2/x", ["major": "1", "minor": "2"]),
            ("/files/{+path}", "/files/a/b.txt", ["path": "a/b.txt"]), ("/files/{+path}", "/files/", ["path": ""]),
            ("/a%20b", "/a b", [:]), ("/ä", "/%C3%A4", [:]), ("/{", "/%7B", [:]), ("/users/", "/users/", [:]),
            ("/users/@me", "/users/%40me", [:]), ("/a,b", "/a%2Cb", [:]),
        ] as [(String, String, [String: String])])
    func aPathMatches(_ pattern: String, _ path: String, _ parameters: [String: String]) async throws {
        let router = MockRouter()
        router.route(.get, pattern).respond { match in
            #expect(match.parameters == parameters)
            return .text("found")
        }
        #expect(try await Session(transport: router).string("http://mock.example\(path)") == "found")
        try router.verify()
    }

    @Test(
        arguments: [
            ("/users", "/users/"), ("/users/", "/users"), ("/users", "/Users"), ("/users/{id}", "/users"),
            ("/users/{id}", "/users/"), ("/users/{id}", "/users/1/2"), ("/{name}.json", "/.json"),
            ("/files/{+path}", "/files"), ("/a/b", "/a%2Fb"), ("/{a}-{b}", "/ab"), ("/a{+b}", "/a/b"),
        ])
    func aPathDoesNotMatch(_ pattern: String, _ path: String) async {
        let router = MockRouter()
        router.route(.get, pattern).respond(with: .text("found")).optional()
        await #expect(throws: TrellisError.self) {
            try await Session(transport: router).data("http://mock.example\(path)")
        }
        #expect(router.unmatched.count == 1)
    }

    @Test(
        arguments: [
            (nil, "https://api.example.com/v2/users", true), (nil, "HTTPS://API.example.com:443/v2/users", true),
            (nil, "http://api.example.com/v2/users", false), (nil, "https://api.example.com:444/v2/users", false),
            (nil, "/v2/users", true), ("https://api.example.com/v2/", "users", true),
            ("https://api.example.com/v2", "users", false), ("https://api.example.com/v1/", "/v2/users", true),
            ("https://api.example.com", "v2/users", true), ("https://other.example", "/v2/users", false),
            ("https://other.example", "https://api.example.com/v2/users", true),
        ] as [(String?, String, Bool)])
    func aPatternMayHaveAHost(_ baseURL: String?, _ pattern: String, _ isFound: Bool) async throws {
        let router = MockRouter(baseURL: baseURL)
        router.route(.get, pattern).respond(with: .text("found"))
        let text = try? await Session(transport: router).string("https://api.example.com/v2/users")
        #expect((text == "found") == isFound)
        #expect(router.unmatched.isEmpty == isFound)
    }

    // MARK: Responses

    @Test func aResponseIsGivenToEveryRequest() async throws {
        let router = MockRouter()
        let route = router.route(nil, "/").respond(with: .text("again"))
        let session = Session(transport: router)
        for method in [HTTPRequest.Method.get, .put, .delete] {
            let (data, _) = try await session.data(Request("http://mock.example/", method: method))
            #expect(String(decoding: data, as: UTF8.self) == "again")
        }
        #expect(route.requests.map(\.method) == [.get, .put, .delete])
        #expect(route.requests.map(\.number) == [1, 2, 3])
        try router.verify()
    }

    @Test func aListOfResponsesEndsInAFailure() async throws {
        let router = MockRouter()
        router.route(.get, "/job").respond(with: .text("1")).then { match in .text("\(match.count)") }
        let session = Session(transport: router)
        #expect(try await session.string("http://mock.example/job") == "1")
        #expect(throws: TestProblems.self) { try router.verify() }
        #expect(try await session.string("http://mock.example/job") == "2")
        try router.verify()
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://mock.example/job") }
        #expect("\(try #require(error))".contains("has given all 2 responses"))
        #expect(router.unmatched.count == 1)
    }

    @Test func theLastResponseCanBeRepeated() async throws {
        let router = MockRouter()
        router.route(.get, "/job").respond(with: .text("1")).then(.text("2")).thenAlways(.text("3"))
        let session = Session(transport: router)
        var texts: [String] = []
        for _ in 0..<5 { texts.append(try await session.string("http://mock.example/job")) }
        #expect(texts == ["1", "2", "3", "3", "3"])
    }

    /// A route that has no response left leaves the request to the next one that matches.
    @Test func theFirstRouteWithAResponseResponds() async throws {
        let router = MockRouter()
        router.route(.get, "/users/{id}").then(.text("once"))
        router.route(.get, "/users/7").respond(with: .text("always"))
        let session = Session(transport: router)
        #expect(try await session.string("http://mock.example/users/7") == "once")
        #expect(try await session.string("http://mock.example/users/7") == "always")
        try router.verify()
    }

    @Test func aClosureMayWait() async throws {
        let router = MockRouter(), gate = LoopbackServer.Gate()
        router.route(.get, "/").respond { match in
            try await gate.opened()
            return .text("late \(match.count)")
        }
        let session = Session(transport: router)
        async let text = session.string("http://mock.example/")
        try await router.waitUntilRequested(count: 1)
        #expect(router.activeCount == 1)
        gate.open()
        #expect(try await text == "late 1")
        try await router.waitUntilIdle()
    }

    @Test func aClosureThatThrowsIsAFailure() async throws {
        let router = MockRouter()
        router.route(.get, "/").respond { _ in throw TransportFailure(.connectionFailed(.unreachable("down"))) }
        let error = await #expect(throws: TrellisError.self) {
            try await Session(transport: router).data("http://mock.example/")
        }
        #expect(error?.kind == .connect)
        try router.verify()
    }

    @Test func aBodyMayBeStreamedBothWays() async throws {
        let router = MockRouter()
        router.route(.put, "/log", .body("abcd")).respond { match in
            let count = match.request.chunks.count
            return MockResponse { writer in for part in 0..<count { try await writer.write("\(part)") } }
        }
        let chunks = AsyncStream<Data> { continuation in
            for text in ["ab", "c", "d"] { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
        let session = Session(transport: router)
        let request = Request("http://mock.example/log", method: .put, body: .stream(chunks))
        #expect(try await session.string(request) == "012")
        let recorded = try #require(router.requests.first)
        #expect(recorded.chunks == ["ab", "c", "d"].map { Data($0.utf8) })
        #expect(recorded.body == Data("abcd".utf8))
        try router.verify()
    }

    // MARK: Records

    @Test func requestsAreNumberedAndHaveTheirBodies() async throws {
        let transport = MockTransport { _ in MockResponse() }
        let session = Session(transport: transport)
        _ = try await session.data("http://mock.example/1")
        _ = try await session.upload(Data("body".utf8), to: "http://mock.example/2")
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("a".utf8))
            continuation.finish()
        }
        let streamed = Request("http://mock.example/3", method: .post, body: .stream(chunks))
        _ = try await session.data(streamed.withTrailers { [.eTag: "sum"] })
        let recorded = transport.recordedRequests
        #expect(recorded.map(\.number) == [1, 2, 3])
        #expect(recorded.map(\.path) == ["/1", "/2", "/3"])
        #expect(recorded.map(\.chunks.count) == [0, 1, 1])
        #expect(recorded.map { $0.body ?? Data() } == [Data(), Data("body".utf8), Data("a".utf8)])
        #expect(recorded[2].trailers[.eTag] == "sum")
        #expect(recorded[1].description == "POST http://mock.example/2")
    }
}
