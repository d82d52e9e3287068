import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// A header field with an invalid name is an error when the request is sent.
@Suite(.timeLimit(.minutes(3)))
struct InvalidFieldNameTests {
    let transport = MockTransport { _ in .text("hello") }

    /// Sends a request and returns its error; checks that no bytes were sent.
    private func failure(
        _ request: Request, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> TrellisError {
        var configuration = SessionConfiguration()
        change(&configuration)
        let session = Session(configuration: configuration, transport: transport)
        let error = try await #require(throws: TrellisError.self) { try await session.data(request) }
        #expect(transport.startedCount == 0)
        return error
    }

    @Test(arguments: HTTPFieldsNameTests.invalid)
    func theErrorNamesIt(_ name: String) async throws {
        let request = Request("http://localhost/?token=x", method: .put).withHeader(name, "1")
        let error = try await failure(request)
        #expect(error.kind == .invalidRequest)
        guard case .invalidRequest(.headerField(let found)) = error.reason else {
            Issue.record("\(error)")
            return
        }
        #expect(Array(found.utf8) == Array(name.utf8))
        #expect(error.method == .put && error.url == "http://localhost/?token=REDACTED")
        #expect("\(error)".hasSuffix("its name is not a token"))
    }

    @Test func aDefaultFieldIsAnErrorOfEachRequest() async throws {
        let error = try await failure(Request("http://localhost/")) { $0.defaultHeaders["X Key"] = "1" }
        #expect(error.reason == .invalidRequest(.headerField("X Key")))
    }

    @Test func anAdaptersFieldIsAnErrorToo() async throws {
        let request = Request("http://localhost/").withAdapter(
            Adapter { request, _ in request.withHeader("X Key", "1") })
        #expect(try await failure(request).reason == .invalidRequest(.headerField("X Key")))
    }

    @Test func aNameThatWasTakenBackIsNone() async throws {
        var request = Request("http://localhost/").withHeader("X Key", "1").withHeader("X-Key", "2")
        request.headers["X Key"] = nil
        _ = try await Session(transport: transport).data(request)
        let sent = try #require(transport.requests.first)
        #expect(sent.request.headers["X-Key"] == "2")
        #expect(!sent.request.headers.contains { $0.isInvalidNameMark })
    }
}
