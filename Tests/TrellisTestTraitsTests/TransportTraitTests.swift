import FoundationEssentials
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// The code under test, with a session that tests cannot replace.
private enum API {
    static let session = Session()

    static func user(_ id: Int) async throws -> String { try await session.string("http://api.example/users/\(id)") }
}

/// A trait gives each case of a test its transport, and reports the problems of the transport.
@Suite(.timeLimit(.minutes(3)))
struct TransportTraitTests {
    @Test(.trellis(.router { $0.route(.get, "/users/7").respond(with: .text("Ada")) }))
    func aRouterResponds() async throws {
        #expect(try await API.user(7) == "Ada")
        #expect(MockRouter.current?.requests.count == 1)
    }

    /// Each case has a router of its own, whose route is requested once.
    @Test(
        .trellis(.router { $0.route(.get, "/users/{id}").then { match in .text("user \(match["id"] ?? "")") } }),
        arguments: 0..<20)
    func everyCaseHasATransportOfItsOwn(_ id: Int) async throws {
        #expect(try await API.user(id) == "user \(id)")
    }

    @Test(.trellis(.mock { .text("\($0.method) \($0.path)") }))
    func aClosureResponds() async throws {
        #expect(try await API.user(1) == "GET /users/1")
        #expect(MockTransport.current?.requests.map(\.path) == ["/users/1"])
    }

    @Test(.trellis(.server { request in MockResponse { try await $0.write(request.path) } }))
    func aServerResponds() async throws {
        #expect(try await API.user(2) == "/users/2")
    }

    @Test(.trellis(.noNetwork))
    func nothingIsSent() {
        #expect(MockRouter.current == nil && MockTransport.current == nil)
    }

    @Test(.trellis(.router { _ in }))
    func aTestMayAddRoutes() async throws {
        try #require(MockRouter.current).route(.get, "/users/3").respond(with: .text("Eve"))
        #expect(try await API.user(3) == "Eve")
    }

    // MARK: Suites

    @Suite(.trellis(.router { $0.route(.get, "/users/{id}").respond(with: .text("of the suite")).optional() }))
    struct OfASuite {
        @Test func aSuiteHasATransportForEachTest() async throws {
            #expect(try await API.user(1) == "of the suite")
            #expect(MockRouter.current?.requests.count == 1)
        }

        @Test(arguments: [1, 2]) func andForEachCase(_ id: Int) async throws {
            #expect(try await API.user(id) == "of the suite")
            #expect(MockRouter.current?.requests.count == 1)
        }

        @Test(.trellis(.mock { _ in .text("of the test") }))
        func aTestReplacesIt() async throws {
            #expect(try await API.user(1) == "of the test")
        }
    }

    /// The route of this suite must be requested by the tests without transports of their own alone.
    @Suite(.trellis(.router { $0.route(.get, "/users/{id}").respond(with: .text("of the suite")) }))
    struct OfAStrictSuite {
        @Test func aTestUsesIt() async throws {
            #expect(try await API.user(1) == "of the suite")
        }

        @Test(.trellis(.mock { _ in .text("of the test") }))
        func aTestReplacesIt() async throws {
            #expect(try await API.user(1) == "of the test")
        }
    }

    @Test func aTransportThatIsReplacedHasNoIssueAboutItsRoutes() async throws {
        let inner: TransportTrait = .trellis(.mock { _ in .text("of the test") })
        let outer: TransportTrait = .trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")) })
        let found = try await issues(outer) {
            try await inner.scope {
                let user = try await API.user(1)
                #expect(user == "of the test")
            }
        }
        #expect(found.isEmpty)
        // Requests that no route of the replaced transport has responded to are issues.
        let early = try await issues(outer) {
            _ = try? await API.user(2)
            try await inner.scope {}
        }
        #expect(early.count == 1)
    }

    // MARK: Problems

    @Test func aProblemIsAnIssueAtTheLineOfItsRoute() async throws {
        let found = try await issues(
            .trellis(
                .router { router in
                    router.route(.get, "/users/1").respond(with: .text("1"))
                    router.route(.get, "/users/2").respond(with: .text("2"))
                })
        ) {
            _ = try await API.user(1)
        }
        let issue = try #require(found.first)
        #expect(found.count == 1)
        #expect(issue.comments.map(\.rawValue) == ["GET /users/2 was not requested"])
        #expect(issue.sourceLocation?.line == #line - 8)
        #expect(issue.sourceLocation?.fileID == #fileID)
    }

    @Test func aRequestWithoutARouteIsAnIssueEvenIfItsErrorIsHandled() async throws {
        let found = try await issues(
            .trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")).optional() })
        ) {
            _ = try? await API.user(2)
        }
        let comment = try #require(found.first?.comments.first?.rawValue)
        #expect(found.count == 1)
        #expect(comment.hasPrefix("no route for GET http://api.example/users/2; the nearest is GET /users/1"))
        #expect(comment.contains("path: expected /users/1, was /users/2"))
    }

    /// The error that ends a test tells of the request without a route, so that there is no second issue with the same words. Requests
    /// whose errors the test has handled are issues.
    @Test(arguments: [0, 1, 2])
    func aRequestWhoseErrorEndsTheTestIsOneIssue(_ handled: Int) async throws {
        let found = try await issues(.trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")) })) {
            for _ in 0..<handled { _ = try? await API.user(2) }
            _ = try await API.user(2)
        }
        let errors = found.compactMap { $0.error as? TrellisError }
        #expect(errors.count == 1 && found.count == 1 + handled)
        #expect(errors.first?.description.contains("no route for GET http://api.example/users/2") == true)
        let network = try await issues(.trellis(.noNetwork)) { _ = try await API.user(1) }
        #expect(network.count == 1 && network.first?.error is TrellisError)
    }

    /// An error of the test's own does not tell of a request without a route.
    @Test func aRequestWithoutARouteIsAnIssueBesideAnotherError() async throws {
        struct Odd: Error {}
        let found = try await issues(.trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")) })) {
            _ = try? await API.user(2)
            throw Odd()
        }
        #expect(found.count == 2 && found.contains { $0.error is Odd })
    }

    /// A test that fails by itself has no further issues about the requests that it did not reach.
    @Test func aTestThatThrowsHasNoIssueAboutItsOtherRoutes() async throws {
        struct Odd: Error {}
        let found = try await issues(.trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")) })) {
            throw Odd()
        }
        #expect(found.count == 1)
        #expect(found.first?.error is Odd)
    }

    @Test func aRequestWithoutANetworkIsAnIssueAtTheTrait() async throws {
        let found = try await issues(.trellis(.noNetwork)) { _ = try? await API.user(1) }
        #expect(
            found.first?.comments.map(\.rawValue) == [
                "the test has no network, and GET http://api.example/users/1 was not sent"
            ])
        #expect(found.first?.sourceLocation?.line == #line - 5)
    }

    // MARK: Cassettes

    /// A cassette is recorded with a server, and replayed when the server is gone.
    @Test func aCassetteIsRecordedAndThenReplayed() async throws {
        let folder = "/tmp/trellis-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try LoopbackServer.http { request in .text("Ada of \(request.path)") }
        let url = server.url("/users/7")
        func run(_ mode: CassetteMode, reads: Bool = true) async throws -> [Issue] {
            let cassette = TransportProvider.cassette("users", mode: mode, filePath: "\(folder)/a.swift") { cassette in
                cassette.allowsUnused = false
            }
            return try await issues(.trellis(cassette)) {
                guard reads else { return }
                let text = try await API.session.string(url)
                #expect(text == "Ada of /users/7")
            }
        }
        #expect(try await run(.once).isEmpty)
        #expect(server.requests.count == 1)
        server.stop()
        #expect(try await run(.none).isEmpty)
        #expect(server.requests.count == 1)
        let unused = try await run(.none, reads: false)
        #expect(unused.map(\.comments.first?.rawValue) == ["the recording of GET \(url) was not used"])
    }

    @Test func aProviderThatThrowsFailsTheTest() async throws {
        struct Odd: Error {}
        let found = try await issues(.trellis(TransportProvider { throw Odd() })) { Issue.record("not reached") }
        #expect(found.count == 1)
        #expect(found.first?.error is Odd)
    }
}
