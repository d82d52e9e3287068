import Testing
import Trellis
import TrellisTesting

/// A transport gives its responses in their order.
@Suite(.timeLimit(.minutes(3)))
struct ResponsesInTurnTests {
    @Test func theLastResponseIsRepeated() async throws {
        let transport = MockTransport(responses: [.text("1"), .text("2"), .text("3")])
        let session = Session(transport: transport)
        var texts: [String] = []
        for number in 0..<5 { texts.append(try await session.string("http://mock.example/\(number)")) }
        #expect(texts == ["1", "2", "3", "3", "3"])
        #expect(transport.requests.map(\.path) == ["/0", "/1", "/2", "/3", "/4"])
    }

    @Test func aPartOfAHandlerHasResponsesOfItsOwn() async throws {
        let jobs = MockTransport.inTurn([MockResponse(status: 503), .text("done")])
        let transport = MockTransport { request in request.path == "/job" ? try await jobs(request) : .text("home") }
        let session = Session(transport: transport)
        #expect(try await session.string("http://mock.example/") == "home")
        #expect(try await session.data("http://mock.example/job").1.status.code == 503)
        #expect(try await session.string("http://mock.example/") == "home")
        #expect(try await session.string("http://mock.example/job") == "done")
    }
}
