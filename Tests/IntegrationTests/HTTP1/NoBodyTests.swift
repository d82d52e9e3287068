import Testing
import Trellis
import TrellisTesting

/// Responses without a body by definition (RFC 9112, section 6.3) end with their head, for all values of their fields, and the connection
/// can serve the next request.
@Suite(.timeLimit(.minutes(3)))
struct NoBodyTests {
    @Test(arguments: [204, 304], ["Content-Length: 10", "Transfer-Encoding: chunked"])
    func statusWithoutBody(_ status: Int, _ field: String) async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 \(status) None\r\n\(field)\r\n\r\n")
        let (data, response) = try await server.session.data(server.request)
        #expect(data.isEmpty)
        #expect(response.status.code == status)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
    func headHasNoBody(_ field: String) async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\n\(field)\r\n\r\n")
        var request = server.request
        request.method = .head
        let (data, response) = try await server.session.data(request)
        #expect(data.isEmpty)
        #expect(response.headers.count == 1)
        try await server.isHealthyAndLeavesNothing()
        #expect(server.server.acceptedCount == 1, "the connection was fit for another request")
    }
}
