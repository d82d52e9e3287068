import Testing
import Trellis
import TrellisTesting

/// A server that stops sending, or sends too slowly, reaches the time limits.
@Suite(.timeLimit(.minutes(1)))
struct SilenceTests {
    private static let points = [
        Row("after the request", ""),
        Row("in the status line", "HTTP/1.1 20"),
        Row("in a field", "HTTP/1.1 200 OK\r\nContent-Le"),
        Row("after an informational head", "HTTP/1.1 103 Early Hints\r\n\r\n"),
        Row("after the head", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        Row("in a body with a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"),
        Row("between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        Row("before the end of the trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"),
        Row("in a body that ends with the connection", "HTTP/1.1 200 OK\r\n\r\nhello"),
    ]

    @Test(arguments: points)
    func reachesTheIdleTimeout(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer)
        var request = server.request
        request.timeouts = .impatient
        let error = await server.fails(with: .idleTimeout, sending: request)
        #expect(error?.isTimeout == true)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: points.prefix(4))
    func beforeTheHeadReachesItsTimeout(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer)
        var request = server.request
        request.timeouts = Timeouts(responseHead: .milliseconds(300))
        await server.fails(with: .idleTimeout, sending: request)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: points)
    func reachesTheDeadline(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer)
        var request = server.request
        request.timeouts = Timeouts(total: .milliseconds(300))
        await server.fails(with: .deadline, sending: request)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A server that does not read reaches the idle limit: the kernel's buffers fill, and then no byte moves.
    @Test func whileSendingReachesTheIdleTimeout() async throws {
        // The server sees the end of the connection only after all those bytes, so it finally reads them.
        let failed = LoopbackServer.Gate()
        let server = try Misbehaviour { connection, _ in
            try connection.wait(for: failed)
            try connection.readToEnd()
        }
        var request = Request(server.server.url("/bad"), method: .post, body: .data(.init(count: 32 << 20)))
        request.timeouts = .impatient
        await server.fails(with: .idleTimeout, sending: request)
        failed.open()
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [
        Row("head", "HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "x", count: 10_000))"),
        Row(
            "body with a length",
            "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\(String(repeating: "x", count: 10_000))"),
        Row(
            "chunked body",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(repeating: "1\r\nx\r\n", count: 2_000))"),
        Row("body that ends with the connection", "HTTP/1.1 200 OK\r\n\r\n\(String(repeating: "x", count: 10_000))"),
    ])
    func dripCannotOutliveTheDeadline(_ row: Row) async throws {
        let server = try Misbehaviour { connection, _ in
            try connection.writeSlowly(row.answer, every: .milliseconds(20))
        }
        var request = server.request
        request.timeouts = Timeouts(total: .milliseconds(300))
        await server.fails(with: .deadline, sending: request)
        try await server.isHealthyAndLeavesNothing()
    }
}
