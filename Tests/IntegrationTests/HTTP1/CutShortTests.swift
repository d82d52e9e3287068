import Testing
import Trellis
import TrellisTesting

/// A connection that ends at any point of a response, in order or with a reset, is an error, with TLS and without.
@Suite(.timeLimit(.minutes(3)))
struct CutShortTests {
    @Test(arguments: [Ending.close, .reset], Misbehaviour.Scheme.allCases)
    func beforeTheHead(_ ending: Ending, _ scheme: Misbehaviour.Scheme) async throws {
        let server = try Misbehaviour(answering: "", then: ending, over: scheme)
        let error = await server.fails(with: .receive)
        #expect(error?.mayHaveSentBytes == true)
        #expect(error?.isRetryable == true)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(
        arguments: [
            Row("in the status line", "HTTP/1.1 20", then: .close),
            Row("in the status line", "HTTP/1.1 20", then: .reset),
            Row("after the status line", "HTTP/1.1 200 OK\r\n", then: .close),
            Row("after the status line", "HTTP/1.1 200 OK\r\n", then: .reset),
            Row("in a field", "HTTP/1.1 200 OK\r\nContent-Le", then: .close),
            Row("in a field", "HTTP/1.1 200 OK\r\nContent-Le", then: .reset),
            Row("before the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", then: .close),
            Row("before the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", then: .reset),
            Row("after an informational head", "HTTP/1.1 103 Early Hints\r\n\r\n", then: .close),
        ], Misbehaviour.Scheme.allCases)
    func inTheHead(_ row: Row, _ scheme: Misbehaviour.Scheme) async throws {
        let server = try Misbehaviour(answering: row.answer, then: row.ending, over: scheme)
        await server.fails(with: .receive, .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(
        arguments: [
            Row("after the head", "Content-Length: 10\r\n\r\n"),
            Row("in a body with a length", "Content-Length: 10\r\n\r\nhello"),
            Row("before the first chunk", "Transfer-Encoding: chunked\r\n\r\n"),
            Row("in a chunk size", "Transfer-Encoding: chunked\r\n\r\n1"),
            Row("in a chunk", "Transfer-Encoding: chunked\r\n\r\na\r\nhello"),
            Row("between chunks", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
            Row("before the end of the trailers", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"),
        ], Misbehaviour.Scheme.allCases)
    func closedInTheBody(_ row: Row, _ scheme: Misbehaviour.Scheme) async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\n\(row.answer)", then: .close, over: scheme)
        await server.fails(with: .truncatedBody)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(
        arguments: [
            Row("after the head", "Content-Length: 10\r\n\r\n"),
            Row("in a body with a length", "Content-Length: 10\r\n\r\nhello"),
            Row("in a chunk", "Transfer-Encoding: chunked\r\n\r\na\r\nhello"),
            Row("in a body that ends with the connection", "\r\nhello"),
        ], Misbehaviour.Scheme.allCases)
    func resetInTheBody(_ row: Row, _ scheme: Misbehaviour.Scheme) async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\n\(row.answer)", then: .reset, over: scheme)
        await server.fails(with: .receive, .truncatedBody)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A stream delivers the bytes before the end of the connection, and then throws.
    @Test func streamDeliversWhatCameFirst() async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", then: .close)
        var text = ""
        await expectFailure([.truncatedBody]) {
            for try await chunk in try await server.session.stream(server.request).chunks {
                text += String(decoding: chunk, as: UTF8.self)
            }
        }
        #expect(text == "hello")
        try await server.isHealthyAndLeavesNothing()
    }
}
