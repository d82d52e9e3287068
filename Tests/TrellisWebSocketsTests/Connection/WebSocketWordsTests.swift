import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// The descriptions of errors of WebSockets, which name the WebSocket and not the request of its handshake.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketWordsTests {
    @Test(
        arguments: [
            ("https://a.example/b?token=x", "wss://a.example/b?token=REDACTED"),
            ("http://a.example/", "ws://a.example/"), ("wss://a.example/", "wss://a.example/"),
        ])
    func aHandshakeIsNamedByTheURLOfTheWebSocket(_ url: String, _ name: String) {
        var error = TrellisError(.validationFailed(.status(404)), method: .get, url: url)
        #expect(error.description.hasPrefix("GET "))
        error.webSocketPart = .handshake
        #expect(error.description == "WebSocket handshake with \(name): the status 404 (Not Found) is not accepted")
    }

    @Test func aRefusedHandshakeIsNamedAsOne() async throws {
        let session = Session(transport: MockTransport { _ in MockResponse(status: 404) })
        let error = await #expect(throws: TrellisError.self) {
            _ = try await session.webSocket("ws://a.example/b")
        }
        #expect(error?.description.hasPrefix("WebSocket handshake with ws://a.example/b: ") == true)
        #expect(error?.url == "ws://a.example/b" && error?.response?.url == "ws://a.example/b")
        await session.shutdown()
    }

    @Test func aConversationThatIsLostIsNamedAsAWebSocket() async throws {
        let mock = await MockSocket()
        mock.wire.end()
        let error = await #expect(throws: TrellisError.self) { _ = try await mock.socket.receive() }
        #expect(error?.description.hasPrefix("WebSocket ws://localhost/: ") == true)
        #expect(error?.url == "ws://localhost/" && mock.socket.response.url == "ws://localhost/")
        await mock.shutDown()
    }

    @Test func theSchemesOfAWebSocketAreThoseOfItsHandshake() {
        #expect("http://a/?b=http://c".withWebSocketScheme == "ws://a/?b=http://c")
        #expect("HTTPS://a/".withWebSocketScheme == "wss://a/")
        #expect("wss://a/".withWebSocketScheme == "wss://a/" && "a/http://".withWebSocketScheme == "a/http://")
    }

    @Test(
        arguments: [
            ("localhost:8102/echo", "it has no scheme (did you mean ws://localhost:8102/echo ?)"),
            ("ftp://a.example/", "its scheme is ftp, not ws or wss"),
        ])
    func theSchemesOfAWebSocketAreItsOwn(_ url: String, _ reason: String) async throws {
        let session = Session(transport: MockTransport { _ in .text("") })
        let error = await #expect(throws: TrellisError.self) { try await session.webSocket(url) }
        #expect(error?.reason == .invalidRequest(.url(reason)))
        await session.shutdown()
    }
}
