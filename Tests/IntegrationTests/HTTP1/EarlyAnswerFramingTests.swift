import Foundation
import Testing
import Trellis
import TrellisTesting

/// A response that arrives before the body of the request is sent is delivered, for each way to end a response.
@Suite(.timeLimit(.minutes(3)))
struct EarlyAnswerFramingTests {
    /// A way to mark the end of a response (RFC 9112, section 6.3).
    enum Framing: String, CaseIterable, Sendable {
        case length, chunks, trailers, close, noBody

        func answer(_ status: Int) -> String {
            let head = "HTTP/1.1 \(status) Early\r\n"
            return switch self {
            case .length: head + "Content-Length: 3\r\n\r\nbig"
            case .chunks: head + "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nb\r\n2\r\nig\r\n0\r\n\r\n"
            case .trailers: head + "Transfer-Encoding: chunked\r\n\r\n3\r\nbig\r\n0\r\nX-Last: yes\r\n\r\n"
            case .close: head + "Connection: close\r\n\r\nbig"
            case .noBody: head + "Content-Length: 0\r\n\r\n"
            }
        }
    }

    /// A row of the test: a response, and a source of the request's body.
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let rest: WatchedSource.Rest
        let framing: Framing
        /// Whether the last bytes are sent separately.
        let isSplit: Bool

        var testDescription: String { "\(status) \(framing)\(isSplit ? " in two" : ""), \(rest) source" }

        static let all = [200, 307, 413].flatMap { status in
            WatchedSource.Rest.allCases.flatMap { rest in
                Framing.allCases.flatMap { framing in
                    [false, true].map { Case(status: status, rest: rest, framing: framing, isSplit: $0) }
                }
            }
        }
    }

    @Test(arguments: Case.all)
    func theAnswerIsTheAnswer(_ row: Case) async throws {
        let server = try server(row)
        let source = WatchedSource(row.rest)
        // A redirect without a target is delivered as a response.
        let (data, response) = try await server.session.upload(.stream(source), to: server.request)
        #expect(response.status.code == row.status)
        #expect(String(decoding: data, as: UTF8.self) == (row.framing == .noBody ? "" : "big"))
        #expect(response.trailers.count == (row.framing == .trailers ? 1 : 0))
        try await source.released.opened()
        try await server.isHealthyAndLeavesNothing()
        #expect(server.server.acceptedCount == 2, "the connection must not carry another request")
    }

    private func server(_ row: Case) throws -> Misbehaviour {
        try Misbehaviour { connection, _ in
            _ = try connection.read(upTo: 1)
            let answer = row.framing.answer(row.status)
            try connection.write(String(answer.dropLast(row.isSplit ? 2 : 0)))
            if row.isSplit {
                connection.waitUntilReceived()
                try connection.write(String(answer.suffix(2)))
            }
            if row.framing == .close { connection.shutdownWrite() }
            try connection.readToEnd()
        }
    }

    /// A chunked response that ends with the connection before its last chunk is an error, for each kind of source.
    @Test(arguments: [200, 413], WatchedSource.Rest.allCases)
    func anAnswerThatIsCutShortIsAnError(_ status: Int, _ rest: WatchedSource.Rest) async throws {
        let clock = TestClock(), isClosed = LoopbackServer.Gate()
        let server = try Misbehaviour(clock: clock) { connection, _ in
            _ = try connection.read(upTo: 1)
            try connection.write(String(Framing.chunks.answer(status).dropLast(7)))
            connection.waitUntilReceived()
            connection.close()
            isClosed.open()
        }
        let session = server.session, request = server.request.withTimeouts(.soonIdle)
        let source = WatchedSource(rest)
        // An older libcurl does not report the end of the connection while the source pauses.
        if rest == .stalled, status == 200 {
            try await expectTimeout(
                [.truncatedBody, .receive, .send, .idleTimeout], after: Timeouts.idleLimit, on: clock, in: session,
                once: isClosed
            ) { try await session.upload(.stream(source), to: request) }
        } else {
            await expectFailure([.truncatedBody, .receive, .send]) {
                try await session.upload(.stream(source), to: request)
            }
        }
        try await source.released.opened()
        try await server.isHealthyAndLeavesNothing()
    }

    /// The number of bytes sent equals the number that the server has received: for a body that is sent with its head, a body in chunks,
    /// and the beginning of a body.
    @Test(arguments: [0, 5, 5_000, 60_000, 200_000, 3_000_000])
    func bytesSentAreThoseOfHeadAndBody(_ count: Int) async throws {
        let server = try LoopbackServer.http(storesBodies: false) { _ in .init(204) }
        let session = Session()
        let (_, response) = try await session.upload(Data(count: count), to: server.url())
        let head = try #require(server.requests.first).headBytes.count
        #expect(response.metrics.bytesSent == Int64(head + count))
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// The bytes sent of a body whose rest is not needed are those of its beginning.
    @Test func bytesSentAreThoseThatWereSent() async throws {
        let server = try Misbehaviour { connection, _ in
            _ = try connection.read(exactly: 5)
            try connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
            try connection.readToEnd()
        }
        let (_, response) = try await server.session.upload(
            .stream(WatchedSource(.stalled), length: 1_000_000), to: server.request)
        let head = try #require(server.server.requests.first).headBytes.count
        #expect(response.metrics.bytesSent == Int64(head + 5))
        try await server.isHealthyAndLeavesNothing()
    }
}
