import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The fields of a mock's response can be written as text.
@Suite(.timeLimit(.minutes(3)))
struct MockResponseFieldsTests {
    private func response(to mock: MockResponse) async throws -> Response {
        try await Session(transport: MockTransport { _ in mock }).data("http://mock.example/").1
    }

    @Test func aPageOfJSONHasALink() async throws {
        let page = try await response(to: .json("[]", headers: ["Link": "</users?page=2>; rel=next", "ETag": "\"1\""]))
        #expect(page.headers[.contentType] == "application/json")
        #expect(page.headers["Link"] == "</users?page=2>; rel=next")
        #expect(page.headers[.eTag] == "\"1\"")
        let text = try await response(to: .text("a", headers: ["Content-Type": "text/csv"]))
        #expect(text.headers[values: .contentType] == ["text/csv"])
    }

    @Test func aResponseTakesNamesOrText() async throws {
        let typed = try await response(to: MockResponse(status: 201, headers: [.location: "/1"]))
        let fields: KeyValuePairs = ["Location": "/1", "Via": "a", "Via": "b"]
        let texts = try await response(to: MockResponse(status: 201, headers: fields))
        let written = try await response(to: MockResponse(headers: ["Via": "a"]) { try await $0.write("hello") })
        #expect(typed.headers[.location] == "/1" && texts.headers[.location] == "/1")
        #expect(texts.headers[values: HTTPField.Name("Via") ?? .location] == ["a", "b"])
        #expect(written.headers["Via"] == "a")
        #expect(MockResponse(headers: [:]).head.headers.isEmpty)
    }

    @Test func anInvalidNameIsAFailureThatNamesIt() async throws {
        let error = await #expect(throws: TrellisError.self) {
            try await response(to: .json("{}", headers: ["A B": "1"]))
        }
        #expect(error?.reason == .other("a mock's field has an invalid name: A B"))
    }
}
