import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The responses to the handshake of a WebSocket, over a socket: refusals, responses of status 101 that break the rules (RFC 6455,
/// section 4.1), and right ones whose bytes come in unusual pieces.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketResponseTests {
    private static let handshake = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"

    /// Starts a server whose script gets the value that accepts the handshake of the request.
    private static func server(
        _ script: @escaping @Sendable (LoopbackServer.Connection, _ accept: String) throws -> Void
    ) throws -> LoopbackServer {
        try LoopbackServer { connection in
            guard let request = try connection.readHead() else { return }
            try script(connection, WebSocketKey.accept(request["Sec-WebSocket-Key"] ?? ""))
        }
    }

    /// Returns a head that accepts the handshake.
    private static func head(_ accept: String, _ more: String = "") -> String {
        "\(handshake)Sec-WebSocket-Accept: \(accept)\r\n\(more)\r\n"
    }

    /// Reads the client's Close frame, which has a code and no reason, and sends another one.
    private static func answerClose(_ connection: LoopbackServer.Connection) throws {
        _ = try connection.read(exactly: 8)
        try connection.write(LoopbackServer.WebSocketFrame(0x88, [0x03, 0xE8]).bytes)
    }

    private func finish(_ session: Session, _ server: LoopbackServer) async throws {
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.errors.isEmpty)
    }

    // MARK: Refusals

    @Test(arguments: [(200, "a page"), (204, ""), (401, "who?"), (426, "another version"), (500, "broken"), (503, "")])
    func aStatusOtherThan101IsAnErrorWithItsBody(_ status: Int, _ body: String) async throws {
        let server = try Self.server { connection, _ in
            let length = status == 204 ? "" : "Content-Length: \(body.utf8.count)\r\n"
            try connection.write("HTTP/1.1 \(status) No\r\nSec-WebSocket-Version: 13\r\n\(length)\r\n\(body)")
        }
        let session = Session()
        let error = await expectFailure([.unacceptableStatus]) {
            try await session.webSocket(server.url(scheme: "ws"))
        }
        #expect(error?.response?.status.code == status && (error?.bodyExcerpt?.text ?? "") == body)
        #expect(error?.response?.headers[.secWebSocketVersion] == "13")
        let hasRun = Locked(false)
        let other = await expectFailure([.unacceptableStatus]) {
            try await session.withWebSocket(server.url(scheme: "ws")) { _ in hasRun.withLock { $0 = true } }
        }
        #expect(other?.response?.status.code == status && !hasRun.withLock { $0 })
        try await finish(session, server)
    }

    /// The error keeps the first 4 KiB of the body, and says whether there were more.
    @Test(arguments: [(4_095, 4_095, false), (4_096, 4_096, false), (4_097, 4_096, true), (300_000, 4_096, true)])
    func theErrorHasTheBeginningOfALongBody(_ count: Int, _ kept: Int, _ isCut: Bool) async throws {
        let body = String((0..<count).lazy.map { Character(Unicode.Scalar(UInt8(97 + $0 % 23))) })
        let server = try Self.server { connection, _ in
            try connection.write("HTTP/1.1 403 No\r\nContent-Length: \(count)\r\n\r\n\(body)")
        }
        let session = Session()
        let error = await expectFailure([.unacceptableStatus]) {
            try await session.webSocket(server.url(scheme: "ws"))
        }
        #expect(error?.response?.status == .forbidden && error?.response?.headers[.contentLength] == "\(count)")
        #expect(error?.bodyExcerpt?.text == String(body.prefix(kept)) && error?.bodyExcerpt?.isCut == isCut)
        try await finish(session, server)
    }

    @Test func theErrorHasTheBytesOfABodyThatIsCutShort() async throws {
        let server = try Self.server { connection, _ in
            try connection.write("HTTP/1.1 403 No\r\nContent-Length: 100\r\n\r\nthe first half")
        }
        let session = Session()
        let error = await expectFailure([.unacceptableStatus]) {
            try await session.webSocket(server.url(scheme: "ws"))
        }
        #expect(error?.bodyExcerpt?.text == "the first half" && error?.bodyExcerpt?.isCut == true)
        try await finish(session, server)
    }

    /// The fields of wrong responses, in which ACCEPT stands for the value that the request asks for, and a part of the error.
    private static let wrong: [(String, String)] = [
        ("Connection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT", "Upgrade is missing"),
        ("Upgrade: chat\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT", "\"chat\""),
        ("Upgrade: websocket\r\nSec-WebSocket-Accept: ACCEPT", "Connection is missing"),
        ("Upgrade: websocket\r\nConnection: keep-alive\r\nSec-WebSocket-Accept: ACCEPT", "\"keep-alive\""),
        ("Upgrade: websocket\r\nConnection: Upgrade", "no Sec-WebSocket-Accept"),
        (accepted("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "does not belong to the key"),
        (accepted("ACCEPT\r\nSec-WebSocket-Accept: ACCEPT"), "does not belong to the key"),
        (accepted("ACCEPT\r\nSec-WebSocket-Extensions: x-other"), "x-other, which was not offered"),
        (accepted("ACCEPT\r\nSec-WebSocket-Extensions: permessage-deflate, permessage-deflate"), "repeats"),
        (accepted("ACCEPT\r\nSec-WebSocket-Extensions: permessage-deflate; why"), "unknown parameter why"),
        (accepted("ACCEPT\r\nSec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=7"), "the value 7"),
        (accepted("ACCEPT\r\nSec-WebSocket-Extensions: permessage-deflate; =1"), "malformed"),
        (accepted("ACCEPT\r\nSec-WebSocket-Protocol: news"), "\"news\", which was not offered"),
        (accepted("ACCEPT\r\nSec-WebSocket-Protocol: CHAT"), "\"CHAT\", which was not offered"),
        (accepted("ACCEPT\r\nSec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: chat"), "\"chat, chat\""),
    ]

    private static func accepted(_ rest: String) -> String {
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(rest)"
    }

    @Test(arguments: wrong)
    func aResponseThatBreaksARuleIsRefused(_ fields: String, _ part: String) async throws {
        let server = try Self.server { connection, accept in
            let fields = fields.replacingOccurrences(of: "ACCEPT", with: accept)
            try connection.write("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n\r\n")
            connection.waitUntilPeerCloses()
        }
        let session = Session()
        let error = await expectFailure([.webSocket]) {
            try await session.webSocket(
                server.url(scheme: "ws"), options: WebSocketOptions(subprotocols: ["chat", "feed"]))
        }
        #expect(error?.response?.status == .switchingProtocols)
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        // The connection is closed, and does not wait for the end of the session.
        try await server.waitUntilClosed(count: 1)
        try await finish(session, server)
    }

    @Test func a101OfHTTP10IsMalformed() async throws {
        let server = try Self.server { connection, accept in
            let head = Self.head(accept)
            try connection.write("HTTP/1.0\(head.dropFirst("HTTP/1.1".count))")
            connection.waitUntilPeerCloses()
        }
        let session = Session()
        await expectFailure([.malformedResponse]) { try await session.webSocket(server.url(scheme: "ws")) }
        try await finish(session, server)
    }

    // MARK: Pieces

    @Test func framesInThePacketOfTheHeadAreRead() async throws {
        let server = try Self.server { connection, accept in
            let frames = [
                LoopbackServer.WebSocketFrame(0x81, Array("one".utf8)),
                LoopbackServer.WebSocketFrame(0x89, [7]),
                LoopbackServer.WebSocketFrame(0x82, [UInt8](repeating: 2, count: 600 << 10)),
                LoopbackServer.WebSocketFrame(0x88, [0x03, 0xE9]),
            ]
            try connection.write(Array(Self.head(accept).utf8) + frames.flatMap(\.bytes))
            // The answer to the ping, and the client's Close frame.
            _ = try connection.read(exactly: 7 + 8)
        }
        let session = Session()
        let socket = try await session.webSocket(server.url(scheme: "ws"))
        let first = try await socket.receive()
        #expect(first == .text("one"))
        let second = try await socket.receive()
        #expect(second == .binary(Data(repeating: 2, count: 600 << 10)))
        let last = try await socket.receive()
        #expect(last == nil && socket.closeCode == .goingAway)
        try await socket.close()
        try await finish(session, server)
    }

    @Test func aHeadMayComeByteByByte() async throws {
        let server = try Self.server { connection, accept in
            let frame = LoopbackServer.WebSocketFrame(0x81, Array("é".utf8))
            for byte in Array(Self.head(accept).utf8) + frame.bytes {
                try connection.write([byte])
                connection.waitUntilReceived()
            }
            try Self.answerClose(connection)
        }
        let session = Session()
        try await session.withWebSocket(server.url(scheme: "ws")) { socket in
            let message = try await socket.receive()
            #expect(message == .text("é"))
        }
        try await finish(session, server)
    }

    @Test func aLongHeadIsReadUpToItsLimit() async throws {
        let server = try LoopbackServer { connection in
            guard let request = try connection.readHead() else { return }
            let accept = WebSocketKey.accept(request["Sec-WebSocket-Key"] ?? "")
            // Each line has 1,024 bytes.
            let count = request.path == "/below" ? 60 : 70
            let lines = (0..<count).map { "X-Number-\($0 + 100): " + String(repeating: "x", count: 1_008) + "\r\n" }
            try connection.write(Self.head(accept, lines.joined()))
            if request.path == "/below" { try Self.answerClose(connection) } else { connection.waitUntilPeerCloses() }
        }
        let session = Session()
        let socket = try await session.webSocket(server.url("/below", scheme: "ws"))
        #expect(socket.response.headers["X-Number-159"]?.count == 1_008)
        try await socket.close()
        #expect(socket.closeCode == .normalClosure)
        let error = await expectFailure([.malformedResponse]) {
            try await session.webSocket(server.url("/above", scheme: "ws"))
        }
        #expect(error?.description.contains("exceeds 65536 bytes") == true)
        try await finish(session, server)
    }

    /// Informational responses come before the final one, whose fields alone count (RFC 9110, section 15.2).
    @Test(arguments: [true, false])
    func informationalResponsesMayComeFirst(_ isOnePacket: Bool) async throws {
        let server = try Self.server { connection, accept in
            let hint = "HTTP/1.1 103 Early Hints\r\nSec-WebSocket-Accept: no\r\nSec-WebSocket-Protocol: news\r\n\r\n"
            let frame = LoopbackServer.WebSocketFrame(0x81, Array("hello".utf8))
            let last = Array(Self.head(accept).utf8) + frame.bytes
            if isOnePacket {
                try connection.write(Array((hint + hint).utf8) + last)
            } else {
                for _ in 0..<2 {
                    try connection.write(hint)
                    connection.waitUntilReceived()
                }
                try connection.write(last)
            }
            try Self.answerClose(connection)
        }
        let session = Session()
        try await session.withWebSocket(server.url(scheme: "ws")) { socket in
            let message = try await socket.receive()
            #expect(message == .text("hello") && socket.subprotocol == nil)
        }
        try await finish(session, server)
    }

    /// A response of status 101 has no body, whatever its fields say (RFC 9112, section 6.3).
    @Test(arguments: ["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n"])
    func theBytesBehindA101AreNoBody(_ field: String) async throws {
        let server = try Self.server { connection, accept in
            let frame = LoopbackServer.WebSocketFrame(0x81, Array("hello".utf8))
            try connection.write(Array(Self.head(accept, field).utf8) + frame.bytes)
            try Self.answerClose(connection)
        }
        let session = Session()
        try await session.withWebSocket(server.url(scheme: "ws")) { socket in
            let message = try await socket.receive()
            #expect(message == .text("hello"))
        }
        try await finish(session, server)
    }

    // MARK: Time

    /// A reader does not wait for the server's answer to the Close frame.
    @Test func aReaderIsToldAtOnceThatTheTimeIsOver() async throws {
        let mayAnswer = LoopbackServer.Gate()
        let server = try Self.server { connection, accept in
            try connection.write(Self.head(accept))
            let close = try connection.read(exactly: 8)
            try connection.wait(for: mayAnswer)
            // The code 1001, with its mask.
            #expect(close[0] == 0x88 && [close[2] ^ close[6], close[3] ^ close[7]] == [0x03, 0xE9])
            try connection.write(LoopbackServer.WebSocketFrame(0x88, [0x03, 0xE9]).bytes)
        }
        let clock = TestClock()
        let session = Session(configuration: SessionConfiguration(), clock: clock)
        let options = WebSocketOptions(pingInterval: nil, closeTimeout: .seconds(3600), totalTimeout: .seconds(600))
        let socket = try await session.webSocket(server.url(scheme: "ws"), options: options)
        async let failure = expectFailure([.totalTimeout]) { try await socket.receive() }
        clock.move(by: .seconds(600))
        _ = await failure
        await expectFailure([.totalTimeout]) { try await socket.send("late") }
        mayAnswer.open()
        try await socket.close()
        try await finish(session, server)
    }
}
