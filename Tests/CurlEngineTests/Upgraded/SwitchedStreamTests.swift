import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// A stream of HTTP/2 carries another protocol after an extended CONNECT (RFC 8441).
@Suite(.timeLimit(.minutes(3)), .enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct SwitchedStreamTests {
    private let run = SwitchRun()

    /// Accepts the protocol, and sends back the bytes of two DATA frames.
    private static func echo() throws -> LoopbackServer {
        try LoopbackServer { connection in
            let peer = RawHTTP2(connection: connection)
            _ = try connection.read(exactly: 24)
            // SETTINGS_ENABLE_CONNECT_PROTOCOL.
            try connection.write(RawHTTP2.frame(RawHTTP2.settings, 0, stream: 0, [0, 8, 0, 0, 0, 1]))
            let stream = try peer.readFurtherRequest()
            let head = RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, RawHTTP2.statusOK)
            try connection.write(head)
            for _ in 1...2 {
                var head: [UInt8], payload: [UInt8]
                repeat {
                    head = try connection.read(exactly: 9)
                    payload = try connection.read(exactly: head[..<3].reduce(0) { $0 << 8 | Int($1) })
                } while head[3] != RawHTTP2.data
                try connection.write(RawHTTP2.frame(RawHTTP2.data, 0, stream: stream, payload))
            }
            _ = try connection.readToEnd()
        }
    }

    /// The bytes that are sent later are no further connection.
    @Test func theConnectionIsReadyOnce() async throws {
        let server = try Self.echo()
        let options = TransferOptions(
            url: try WireURL(parsing: server.url()), method: "GET", headerLines: HeaderLines(lines: ["Upgrade: echo"]),
            version: .http2PriorKnowledge, switchesProtocols: true)
        guard case .switched(let head, let connection) = await run.start(options) else { throw SwitchRun.NotSwitched() }
        #expect(head.status == 200)
        for text in ["one", "two"] {
            try await connection.write(Data(text.utf8))
            #expect(try await connection.read(3) == Array(text.utf8))
        }
        #expect(run.connections.withLock { $0 } == 1)
        connection.close()
        try await run.end.opened()
        await run.run.finish()
        try await server.waitUntilAllClosed()
    }
}
