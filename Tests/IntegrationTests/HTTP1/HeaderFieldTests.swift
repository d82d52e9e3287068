import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// Field lines of a response are delivered, or refused if malformed.
@Suite(.timeLimit(.minutes(3)))
struct HeaderFieldTests {
    @Test(arguments: [
        Row("without a colon", "Nonsense"),
        Row("with nothing before the colon", ": value"),
        Row("with a space before the colon", "Name : value"),
        Row("with a name that is no token", "Na(me: value"),
        Row("with a NUL in the value", "Name: va\0lue"),
        Row("with a NUL in the name", "Na\0me: value"),
        Row("with a bare carriage return", "Name: va\rlue"),
        Row("of 300 KB", "Name: \(String(repeating: "x", count: 300 << 10))"),
    ])
    func fieldLineIsRefused(_ row: Row) async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\n\(row.answer)\r\nContent-Length: 2\r\n\r\nok")
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A fold in a field is replaced by spaces, as RFC 9112, section 5.2, requires of a user agent.
    @Test func foldedFieldIsUnfolded() async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\nX-Folded: one\r\n  two\r\nContent-Length: 2\r\n\r\nok")
        let (_, response) = try await server.session.data(server.request)
        let name = try #require(HTTPField.Name("X-Folded"))
        let words = response.headers[name]?.split(separator: " ")
        #expect(words == ["one", "two"])
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func foldInTheFirstFieldIsRefused() async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\n  folded\r\nContent-Length: 2\r\n\r\nok")
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func repeatedFieldsKeepTheirOrder() async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX: 1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n")
        let (_, response) = try await server.session.data(server.request)
        #expect(response.headers[values: .setCookie] == ["a=1", "b=2"])
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func endlessFieldsAreRefused() async throws {
        let server = try Misbehaviour { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\n")
            while true { try connection.write("X-More: \(String(repeating: "x", count: 100))\r\n") }
        }
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func endlessInformationalAnswersAreRefused() async throws {
        let server = try Misbehaviour { connection, _ in
            while true { try connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n") }
        }
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func endlessTrailersAreRefused() async throws {
        let server = try Misbehaviour { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
            while true { try connection.write("X-More: \(String(repeating: "x", count: 100))\r\n") }
        }
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func unaskedSwitchOfProtocolsIsRefused() async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nraw bytes")
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }
}
