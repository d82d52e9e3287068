import Testing
import Trellis
import TrellisTesting

/// Status lines of a response are accepted, or refused if malformed.
@Suite(.timeLimit(.minutes(3)))
struct StatusLineTests {
    @Test(arguments: [
        Row("another protocol", "SSH-2.0-OpenSSH_9.2p1\r\n\r\n"),
        Row("binary", "\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\r\n\r\n"),
        Row("a page without a head", "<html><body>It works!</body></html>\r\n\r\n"),
        Row("no status", "HTTP/1.1\r\nContent-Length: 0\r\n\r\n"),
        Row("words for a status", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("a status with a letter", "HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("a negative status", "HTTP/1.1 -20 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("no space before the status", "HTTP/1.1200 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("a version to come", "HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("the name in another case", "Http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Row("status 0", "HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n"),
        Row("status 99", "HTTP/1.1 099 Less\r\nContent-Length: 0\r\n\r\n"),
    ])
    func isRefused(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer)
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [
        Row("no reason phrase", "HTTP/1.1 200 \r\n"),
        Row("no reason phrase and no space before it", "HTTP/1.1 200\r\n"),
        Row("a reason phrase beyond ASCII", "HTTP/1.1 200 In Ordnung, schön\r\n"),
        Row("a status that is in no list", "HTTP/1.1 299 Fine\r\n"),
        Row("HTTP/1.0", "HTTP/1.0 200 OK\r\n"),
    ])
    func isAccepted(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer + "Content-Length: 2\r\n\r\nok")
        let (data, response) = try await server.session.data(server.request)
        #expect(String(decoding: data, as: UTF8.self) == "ok")
        #expect(response.status.code / 100 == 2)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A status of three digits that is not in the list of RFC 9110 is a response, not an error.
    @Test(arguments: [600, 999])
    func unusualStatusIsAnAnswer(_ status: Int) async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 \(status) Odd\r\nContent-Length: 2\r\n\r\nok")
        let (data, response) = try await server.session.data(server.request)
        #expect(response.status.code == status)
        #expect(data.count == 2)
        try await server.isHealthyAndLeavesNothing()
    }
}
