import Testing
import Trellis
import TrellisTesting

/// A route whose last response is repeated expects the requests for the responses in front of it.
@Suite(.timeLimit(.minutes(3)))
struct MockRouteCountTests {
    private func problems(of requests: Int) async throws -> [String] {
        let router = MockRouter()
        router.route(.get, "/job").then(.text("1")).then(.text("2")).thenAlways(.text("3"))
        let session = Session(transport: router)
        var texts: [String] = []
        for _ in 0..<requests { texts.append(try await session.string("http://mock.example/job")) }
        #expect(texts == Array(["1", "2", "3", "3"].prefix(requests)))
        return router.finish(hasFailed: false).map(\.description)
    }

    @Test func aResponseThatIsGivenOnceMustBeGiven() async throws {
        #expect(try await problems(of: 0) == ["GET /job was not requested"])
        #expect(try await problems(of: 1) == ["GET /job has 2 responses, of which 1 were given"])
    }

    @Test(arguments: [2, 3, 4])
    func theRepeatedResponseNeedsNoRequest(_ count: Int) async throws {
        #expect(try await problems(of: count) == [])
    }
}
