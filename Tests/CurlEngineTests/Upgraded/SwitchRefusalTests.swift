import FoundationEssentials
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@testable import CurlEngine

/// A server may respond to a request to switch protocols as to any other request, or break the rules.
@Suite(.timeLimit(.minutes(3)))
struct SwitchRefusalTests {
    private static let chunks =
        "HTTP/1.1 403 No\r\nTransfer-Encoding: Chunked\r\n\r\n4;a=b\r\nbody\r\n006 \r\n in it\r\n0\r\nX-Last: yes\r\n\r\n"

    /// The response, byte for byte, with the status, the body and the number of trailer fields.
    static let responses: [(String, Int, String, Int)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyrest", 200, "body", 0),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nrest", 200, "", 0),
        ("HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end", 0),
        ("HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\r\n", 401, "", 0),
        ("HTTP/1.1 204 None\r\nContent-Length: 4\r\n\r\nrest", 204, "", 0),
        ("HTTP/1.1 304 Same\r\nContent-Length: 4\r\n\r\nrest", 304, "", 0),
        (chunks, 403, "body in it", 1),
        (
            "HTTP/1.1 100 Wait\r\n\r\nHTTP/1.1 103 Soon\r\nLink: x\r\n\r\n"
                + "HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\n!", 404, "!", 0
        ),
    ]

    private func outcome(
        _ response: String, inPieces: Bool, limit: Int = 64 << 10
    ) async throws -> SwitchRun.Outcome {
        let run = SwitchRun()
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            for piece in inPieces ? response.utf8.map({ [$0] }) : [Array(response.utf8)] { try connection.write(piece) }
        }
        let outcome = await run.start(try SwitchRun.options(server.url(), limit: limit))
        if case .switched(_, let connection) = outcome { connection.close() }
        try await run.end.opened()
        await run.run.finish()
        try await server.waitUntilAllClosed()
        return outcome
    }

    @Test(arguments: responses, [false, true])
    func otherResponsesAreResponses(
        _ row: (response: String, status: Int, body: String, trailers: Int), _ inPieces: Bool
    ) async throws {
        let outcome = try await outcome(row.response, inPieces: inPieces)
        guard case .ended(let head, let body, let end) = outcome else {
            Issue.record("the protocols were switched")
            return
        }
        #expect(end.failure == nil, "\(String(describing: end.failure?.message))")
        #expect(head?.status == row.status && String(decoding: body, as: UTF8.self) == row.body)
        #expect(end.trailers.count == row.trailers)
        #expect(end.report.bytesReceived > 0 && end.report.bytesSent > 0 && end.report.firstByte > 0)
    }

    static let failures: [(String, EngineFailure.Kind)] = [
        ("", .emptyReply),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: ec", .head(.cutShort)),
        ("HTTP/1.0 101 Switching Protocols\r\n\r\n", .head(.unexpectedStatus(101))),
        ("HTTP/1.1 1010 Switching Protocols\r\n\r\n", .head(.badStatusLine("HTTP/1.1 1010 Switching Protocols"))),
        ("SSH-2.0-OpenSSH\r\n", .head(.badStatusLine("SSH-2.0-OpenSSH"))),
        ("HTTP/2 101\r\n\r\n", .head(.badStatusLine("HTTP/2 on a connection for HTTP/1.1"))),
        ("HTTP/1.1 101 Yes\r\nno colon\r\n\r\n", .head(.badFieldLine("no colon"))),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody", .bodyCutShort),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n", .head(.conflictingContentLength)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody", .bodyCutShort),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbodyX\r\n", .malformedResponse),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\n", .malformedResponse),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", .malformedResponse),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", .head(.badFieldLine("Transfer-Encoding: gzip"))),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "0", count: 5_000),
            .malformedResponse
        ),
    ]

    @Test(arguments: failures, [false, true])
    func brokenResponsesAreFailures(_ row: (response: String, kind: EngineFailure.Kind), _ inPieces: Bool) async throws
    {
        guard case .ended(_, _, let end) = try await outcome(row.response, inPieces: inPieces) else {
            Issue.record("the protocols were switched")
            return
        }
        #expect(end.failure?.kind == row.kind)
    }

    @Test(arguments: ["", "\r\n", "HTTP/1.1 103 Soon\r\n\r\n"])
    func aHeadAboveTheLimitIsAFailure(_ end: String) async throws {
        let line = "X: " + String(repeating: "a", count: 997)
        let head = "HTTP/1.1 101 Yes\r\n" + (end.isEmpty ? line + line : line + "\r\n" + line) + end
        let text = end.hasPrefix("HTTP") ? String(repeating: end, count: 100) : head
        guard case .ended(_, _, let end) = try await outcome(text, inPieces: false, limit: 1_500) else {
            Issue.record("the protocols were switched")
            return
        }
        #expect(end.failure?.kind == .head(.tooLarge(limit: 1_500)))
    }

    /// A number of bytes that exceeds the buffers of both sockets if the peer reads nothing: the largest buffer of the sender, and a
    /// mebibyte for the receiver, whose buffer only grows with what is read.
    private static var moreThanTheBuffers: Int {
        let limits = FileManager.default.contents(atPath: "/proc/sys/net/ipv4/tcp_wmem") ?? Data()
        let largest = String(decoding: limits, as: UTF8.self).split { !$0.isNumber }.last.flatMap { Int($0) }
        return (largest ?? 4 << 20) + 1 << 20
    }

    /// The rest of the request would be taken for the other protocol.
    @Test func aSwitchBeforeTheEndOfTheRequestIsAFailure() async throws {
        let hasEnded = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            try connection.write(LoopbackServer.switching)
            try connection.wait(for: hasEnded)
        }
        let run = SwitchRun()
        let line = "X: " + String(repeating: "a", count: Self.moreThanTheBuffers)
        let options = TransferOptions(
            url: try WireURL(parsing: server.url()), method: "GET", headerLines: HeaderLines(lines: [line]),
            version: .http1, switchesProtocols: true)
        guard case .ended(_, _, let end) = await run.start(options) else {
            Issue.record("the protocols were switched")
            return
        }
        #expect(end.failure?.kind == .head(.unexpectedStatus(101)))
        hasEnded.open()
        await run.run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func aServerThatIsNotThereIsAFailureToConnect() async throws {
        let run = SwitchRun(), url = try ClosedPort().url()
        guard case .ended(_, _, let end) = await run.start(try SwitchRun.options(url)) else { return }
        #expect(end.failure?.kind == .connect)
        await run.run.finish()
    }
}
