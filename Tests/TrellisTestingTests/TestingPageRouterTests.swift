import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

private enum API {
    static let session = Session()

    static func user(_ id: Int) async throws -> String {
        try await session.string("https://api.example.com/users/\(id)")
    }
}

/// The tests of the page Testing about routers, and about transports for one test.
@Suite(.timeLimit(.minutes(3)))
struct TestingPageRouterTests {
    @Test func aUserIsCreatedAndRead() async throws {
        let router = MockRouter(baseURL: "https://api.example.com/v2/")
        router.route(.post, "users", .json(#"{"name": "Ada"}"#), .header("X-API-Key", "abc"))
            .respond(with: MockResponse(status: 201, headers: [.location: "/v2/users/7"]))
        router.route(.get, "users/{id}").respond { match in .json(#"{"name": "Ada", "id": "\#(match["id"] ?? "")"}"#) }
        var configuration = SessionConfiguration()
        configuration.defaultHeaders["X-API-Key"] = "abc"
        let session = Session(configuration: configuration, transport: router)
        let body = RequestBody.data(Data(#"{"name": "Ada"}"#.utf8), contentType: "application/json")
        let (_, response) = try await session.data(
            Request("https://api.example.com/v2/users", method: .post, body: body))
        #expect(response.headers[.location] == "/v2/users/7")
        let user = try await session.string("https://api.example.com/v2/users/7")
        #expect(user == #"{"name": "Ada", "id": "7"}"#)
        try router.verify()
    }

    @Test func aJobIsAskedAboutUntilItIsDone() async throws {
        let router = MockRouter()
        let job = router.route(.get, "/jobs/1").respond(with: MockResponse(status: 503)).then(.text("done"))
        var configuration = SessionConfiguration()
        configuration.retry = RetryPolicy(retryLimit: 2, exponentialBackoffScale: .zero)
        let session = Session(configuration: configuration, transport: router)
        #expect(try await session.string("https://api.example.com/jobs/1") == "done")
        #expect(job.requests.count == 2)
        try router.verify()
    }

    @Test func aUserIsReadWithTheSharedSession() async throws {
        let router = MockRouter()
        router.route(.get, "/users/7").respond(with: .text("Ada"))
        let user = try await withTransport(router) { try await API.user(7) }
        #expect(user == "Ada")
    }

    @Test func aServerEchoesABody() async throws {
        let transport = InProcessTransport { request in
            guard request.path == "/echo" else { return MockResponse(status: 404) }
            return MockResponse { writer in
                for try await chunk in request.body { try await writer.write(chunk) }
            }
        }
        let session = Session(transport: transport)
        let (data, _) = try await session.upload(Data("hello".utf8), to: "https://api.example.com/echo")
        #expect(data == Data("hello".utf8))
    }
}
