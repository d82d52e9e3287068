import Testing
import Trellis
import TrellisTesting

/// A server that stops sending, or sends too slowly, reaches the time limits.
@Suite(.timeLimit(.minutes(3)))
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

    private let clock = TestClock()

    @Test(arguments: points)
    func reachesTheIdleTimeout(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer, clock: clock)
        let request = server.request.withTimeouts(.soonIdle)
        let error = try await server.fails(
            with: .idleTimeout, after: Timeouts.idleLimit, on: clock, sending: request)
        #expect(error?.isTimeout == true && error?.reason == .timedOut(.idle))
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: points.prefix(4))
    func beforeTheHeadReachesItsTimeout(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer, clock: clock)
        let request = server.request.withTimeouts(Timeouts(responseHead: .seconds(20), total: nil))
        let error = try await server.fails(with: .responseTimeout, after: .seconds(20), on: clock, sending: request)
        #expect(error?.reason == .timedOut(.responseHead))
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: points)
    func reachesTheDeadline(_ row: Row) async throws {
        let server = try Misbehaviour(answering: row.answer, clock: clock)
        let request = server.request.withTimeouts(Timeouts(total: .seconds(20)))
        try await server.fails(with: .totalTimeout, after: .seconds(20), on: clock, sending: request)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A server that does not read reaches the idle limit: the kernel's buffers fill, and then no byte moves.
    @Test func whileSendingReachesTheIdleTimeout() async throws {
        // The server sees the end of the connection only after all those bytes, so it finally reads them.
        let failed = LoopbackServer.Gate()
        let server = try Misbehaviour(clock: clock) { connection, _ in
            try connection.wait(for: failed)
            try connection.readToEnd()
        }
        let body = RequestBody.data(.init(count: 32 << 20))
        let request = Request(server.server.url("/bad"), method: .post, body: body).withTimeouts(.soonIdle)
        try await server.fails(with: .idleTimeout, after: Timeouts.idleLimit, on: clock, sending: request)
        failed.open()
        try await server.isHealthyAndLeavesNothing()
    }

    /// The beginnings of responses, which are followed by a field, an `x` or a chunk of one byte at a time.
    private static let drips = [
        Row("head", "HTTP/1.1 200 OK\r\n"),
        Row("body with a length", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
        Row("chunked body", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Row("body that ends with the connection", "HTTP/1.1 200 OK\r\n\r\n"),
    ]

    /// Bytes come long before the idle limit, each time, and the deadline is reached nevertheless.
    @Test(arguments: drips)
    func dripCannotOutliveTheDeadline(_ row: Row) async throws {
        let piece = row.name == "head" ? "X: x\r\n" : row.name.hasPrefix("chunked") ? "1\r\nx\r\n" : "x"
        let pieces = PacedPieces(Array(repeating: piece, count: 15))
        let server = try Misbehaviour(clock: clock) { connection, _ in
            try connection.write(row.answer)
            try pieces.write(to: connection)
        }
        let limits = Timeouts(responseHead: .seconds(3600), idle: .seconds(60), total: .seconds(300))
        async let error = server.fails(with: .totalTimeout, sending: server.request.withTimeouts(limits))
        try await pieces.advance(clock, by: .seconds(20), in: server.session)
        #expect(await error?.isTimeout == true)
        try await server.isHealthyAndLeavesNothing()
    }

    /// The bytes of a line of a head that does not end do not count against the idle limit.
    @Test func aLineOfAHeadThatDripsReachesTheIdleTimeout() async throws {
        let pieces = PacedPieces(Array(repeating: "x", count: 3))
        let server = try Misbehaviour(clock: clock) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nX-Long: ")
            try pieces.write(to: connection)
        }
        let limits = Timeouts(responseHead: .seconds(3600), idle: .seconds(60), total: .seconds(300))
        async let error = server.fails(with: .idleTimeout, sending: server.request.withTimeouts(limits))
        try await pieces.advance(clock, by: .seconds(20), in: server.session)
        #expect(await error?.reason == .timedOut(.idle))
        try await server.isHealthyAndLeavesNothing()
    }
}
