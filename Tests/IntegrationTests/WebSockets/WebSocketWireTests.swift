import Foundation
import Testing
import Trellis
import TrellisTesting

/// WebSockets against a server of the tests: the handshake with the steps of a request, and its wrong responses.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketWireTests {
    @Test func messagesPassInBothDirections() async throws {
        let server = try WebSocketServer()
        let session = Session()
        let replies = try await session.withWebSocket(server.url(scheme: "ws")) { socket in
            #expect(socket.response.status == .switchingProtocols && socket.extensions == "")
            var replies: [WebSocketMessage] = []
            for message in [
                WebSocketMessage.text("a"), .binary(Data([1, 2])), .text(String(repeating: "é", count: 5000)),
            ] {
                try await socket.send(message)
                if let reply = try await socket.receive() { replies.append(reply) }
            }
            try await socket.ping()
            #expect(socket.latency != nil)
            return replies
        }
        #expect(replies == [.text("a"), .binary(Data([1, 2])), .text(String(repeating: "é", count: 5000))])
        try await server.server.waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func theHandshakeTakesTheStepsOfARequest() async throws {
        let server = try WebSocketServer()
        var configuration = SessionConfiguration()
        configuration.steps.cookies = CookieJar()
        let session = Session(configuration: configuration)
        // The first response is a redirect that sets a cookie, without which the second one is a 403.
        let socket = try await session.webSocket(server.url("/redirect"))
        #expect(socket.response.redirects.count == 1)
        try await socket.close()
        #expect(socket.closeCode == .normalClosure)
        try await server.server.waitUntilAllClosed()
        await session.shutdown()
    }

    /// RFC 6455, section 4.1: the key is selected randomly for each connection, that after a redirect included.
    @Test func eachConnectionOfAHandshakeHasAKeyOfItsOwn() async throws {
        let server = try WebSocketServer()
        var configuration = SessionConfiguration()
        configuration.steps.cookies = CookieJar()
        let session = Session(configuration: configuration)
        for _ in 0..<2 {
            let socket = try await session.webSocket(server.url("/redirect"))
            try await socket.close()
        }
        let keys = server.receivedKeys
        #expect(keys.count == 4 && Set(keys).count == 4)
        #expect(keys.allSatisfy { Data(base64Encoded: $0)?.count == 16 })
        try await server.server.waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func aRefusalIsAnErrorWithItsStatusAndBody() async throws {
        let server = try WebSocketServer()
        let session = Session()
        do {
            _ = try await session.webSocket(server.url("/refused"))
            Issue.record("no error")
        } catch let error as TrellisError {
            #expect(error.kind == .unacceptableStatus && error.response?.status.code == 403)
            #expect(error.bodyExcerpt?.text == "no cookie")
        }
        await session.shutdown()
    }

    @Test(arguments: ["/no-accept", "/wrong-accept", "/extension", "/subprotocol"])
    func aResponseThatDoesNotBelongToTheHandshakeIsRefused(_ path: String) async throws {
        let server = try WebSocketServer()
        let session = Session()
        do {
            _ = try await session.webSocket(server.url(path))
            Issue.record("no error")
        } catch let error as TrellisError {
            #expect(error.kind == .webSocket && error.response?.status == .switchingProtocols)
        }
        try await server.server.waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func bytesBehindTheHeadAreMessages() async throws {
        let server = try WebSocketServer()
        let session = Session()
        let socket = try await session.webSocket(server.url("/early"))
        #expect(try await socket.receive() == .text("early"))
        try await socket.close()
        await session.shutdown()
    }

    @Test func cancellingTheTaskClosesWith1001() async throws {
        let server = try WebSocketServer()
        let session = Session()
        let (open, isOpen) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await session.withWebSocket(server.url()) { socket in
                isOpen.finish()
                _ = try await socket.receive()
            }
        }
        for await _ in open {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await server.server.waitUntilAllClosed()
        #expect(server.lastCloseCode == 1001)
        await session.shutdown()
    }

    /// The error of a connection that closes does not hide that the task was cancelled.
    @Test func aCancelledConversationIsCancelledWhateverItsLastErrorIs() async throws {
        let server = try WebSocketServer()
        let session = Session()
        let (open, isOpen) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await session.withWebSocket(server.url()) { socket in
                // A task of its own is not cancelled, and finds the connection closed.
                try await Task {
                    try await socket.send("early")
                    while try await socket.receive() != nil { isOpen.finish() }
                    try await socket.send("late")
                }.value
            }
        }
        for await _ in open {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await session.shutdown()
    }

    /// A conversation has no end of its own, so that the drain does not wait for it.
    @Test(arguments: [Duration.zero, .seconds(300)])
    func theServerIsToldThatTheSessionEnds(_ grace: Duration) async throws {
        let server = try WebSocketServer()
        let session = Session()
        let socket = try await session.webSocket(server.url())
        try await socket.send("a")
        #expect(try await socket.receive() == .text("a"))
        await session.shutdown(drainingFor: grace)
        try await server.server.waitUntilAllClosed()
        #expect(server.lastCloseCode == 1001)
    }

    @Test func aSequenceOpensAgainAfterEachEnd() async throws {
        let server = try WebSocketServer()
        let session = Session()
        let rules = ReconnectionPolicy(initialDelay: .milliseconds(1), minimumDelay: .milliseconds(1))
        var texts: [String] = []
        for try await socket in session.reconnectingWebSockets(server.url("/once"), reconnecting: rules) {
            for try await message in socket.messages { if let text = message.text { texts.append(text) } }
            if texts.count == 3 { break }
        }
        #expect(texts == ["once", "once", "once"])
        try await server.server.waitUntilAllClosed()
        await session.shutdown()
    }

    @Test func aSequenceEndsWithAnErrorThatNoConnectionCorrects() async throws {
        let server = try WebSocketServer()
        let session = Session()
        await #expect(throws: TrellisError.self) {
            for try await _ in session.reconnectingWebSockets(server.url("/refused")) { Issue.record("open") }
        }
        await session.shutdown()
    }
}
