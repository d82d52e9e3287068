import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisWebSockets

/// The opening handshake (RFC 6455, section 4, and RFC 7692, section 7.1).
struct WebSocketHandshakeTests {
    /// The key of RFC 6455, section 1.3.
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    private static func fields(_ change: (inout HTTPFields) -> Void = { _ in }) -> HTTPFields {
        var fields = HTTPFields()
        fields[.upgrade] = "websocket"
        fields[.connection] = "Upgrade"
        fields[.secWebSocketAccept] = accept
        change(&fields)
        return fields
    }

    /// Returns the result, or the words of the failure.
    private static func result(
        _ handshake: WebSocketHandshake, _ fields: HTTPFields
    ) -> Result<WebSocketHandshake.Agreement, TrellisError.WebSocketFailure> {
        do throws(TrellisError.WebSocketFailure) { return .success(try handshake.check(fields, key: key)) } catch {
            return .failure(error)
        }
    }

    private static func extensions(
        _ value: String, _ compression: WebSocketCompression? = WebSocketCompression()
    ) -> Result<WebSocketHandshake.Agreement, TrellisError.WebSocketFailure> {
        result(WebSocketHandshake(compression: compression), fields { $0[.secWebSocketExtensions] = value })
    }

    @Test func theExampleOfTheRFCIsAccepted() throws {
        #expect(WebSocketKey.accept(Self.key) == Self.accept)
        #expect(try WebSocketHandshake().check(Self.fields(), key: Self.key) == WebSocketHandshake.Agreement())
    }

    @Test func theRequestHasTheFieldsOfTheHandshakeAndNoneOfItsOwn() {
        var fields = HTTPFields()
        fields[.secWebSocketKey] = "mine"
        fields[.secWebSocketProtocol] = "mine"
        fields[.secWebSocketExtensions] = "mine"
        fields[.cookie] = "a=b"
        WebSocketHandshake(subprotocols: ["chat", "news"], compression: WebSocketCompression()).add(to: &fields)
        #expect(fields[.upgrade] == "websocket" && fields[.connection] == "Upgrade")
        #expect(fields[.secWebSocketKey] == "" && fields[.secWebSocketVersion] == "13")
        #expect(fields[.secWebSocketProtocol] == "chat, news" && fields[.cookie] == "a=b")
        #expect(fields[.secWebSocketExtensions] == "permessage-deflate; client_max_window_bits")
        WebSocketHandshake().add(to: &fields)
        #expect(fields[.secWebSocketProtocol] == nil && fields[.secWebSocketExtensions] == nil)
    }

    @Test func everyKeyIsOf16BytesAndNew() throws {
        var request = Request("https://localhost/")
        WebSocketHandshake().add(to: &request.headers)
        let keys = try (0..<100).map { _ in
            try #require(request.withKeyOfConnection.headers[.secWebSocketKey])
        }
        #expect(Set(keys).count == 100)
        for key in keys { #expect(try #require(Data(base64Encoded: key)).count == 16) }
    }

    /// The ways in which a response is spoilt.
    private static let mistakes: [(String, @Sendable (inout HTTPFields) -> Void)] = [
        ("no Upgrade", { $0[.upgrade] = nil }), ("another Upgrade", { $0[.upgrade] = "h2c" }),
        ("an Upgrade with a kelvin sign", { $0[.upgrade] = "webSoc\u{212A}et" }),
        ("a list of upgrades", { $0[.upgrade] = "websocket, h2c" }),
        ("no Connection", { $0[.connection] = nil }), ("another Connection", { $0[.connection] = "keep-alive" }),
        ("no accept", { $0[.secWebSocketAccept] = nil }), ("an empty accept", { $0[.secWebSocketAccept] = "" }),
        ("another accept", { $0[.secWebSocketAccept] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOP=" }),
        ("an accept in other letters", { $0[.secWebSocketAccept] = accept.lowercased() }),
        ("the key itself", { $0[.secWebSocketAccept] = key }),
        ("two accepts", { $0.append(HTTPField(name: .secWebSocketAccept, value: accept)) }),
        ("a subprotocol that was not offered", { $0[.secWebSocketProtocol] = "chat" }),
        ("an empty subprotocol", { $0[.secWebSocketProtocol] = "" }),
        ("an extension that was not offered", { $0[.secWebSocketExtensions] = "permessage-deflate" }),
    ]

    @Test("A response that does not belong to the request is refused", arguments: mistakes)
    func refusals(_ name: String, _ change: @Sendable (inout HTTPFields) -> Void) {
        let result = Self.result(WebSocketHandshake(), Self.fields(change))
        #expect(throws: TrellisError.WebSocketFailure.self) { try result.get() }
    }

    @Test func namesAndTokensAreReadInAnyCase() throws {
        let fields = Self.fields {
            $0[.upgrade] = "WebSocket"
            $0[.connection] = "keep-alive, UPGRADE"
        }
        _ = try WebSocketHandshake().check(fields, key: Self.key)
    }

    @Test func theServerChoosesASubprotocolThatWasOffered() throws {
        let handshake = WebSocketHandshake(subprotocols: ["chat", "news"])
        let fields = Self.fields { $0[.secWebSocketProtocol] = "news" }
        #expect(try handshake.check(fields, key: Self.key).subprotocol == "news")
        #expect(try handshake.check(Self.fields(), key: Self.key).subprotocol == nil)
        for value in ["News", "chat, news", "weather", "new"] {
            let result = Self.result(handshake, Self.fields { $0[.secWebSocketProtocol] = value })
            #expect(throws: TrellisError.WebSocketFailure.self) { try result.get() }
        }
    }

    @Test(
        "The parameters of an accepted compression are read",
        arguments: [
            ("permessage-deflate", 15, 15, true, true),
            ("permessage-deflate; server_no_context_takeover", 15, 15, true, false),
            ("permessage-deflate; client_no_context_takeover", 15, 15, false, true),
            ("permessage-deflate;client_max_window_bits=8 ; server_max_window_bits=10", 8, 10, true, true),
            ("permessage-deflate; client_max_window_bits=\"9\"", 9, 15, true, true),
            (" , permessage-deflate,", 15, 15, true, true),
            (
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                    + "server_max_window_bits=8; client_max_window_bits=15", 15, 8, false, false
            ),
        ])
    func parameters(
        _ value: String, _ client: Int, _ server: Int, _ clientKeeps: Bool, _ serverKeeps: Bool
    ) throws {
        let deflate = try #require(try Self.extensions(value).get().compression)
        #expect(deflate.clientWindowBits == client && deflate.serverWindowBits == server)
        #expect(deflate.clientKeepsContext == clientKeeps && deflate.serverKeepsContext == serverKeeps)
    }

    @Test(
        "An acceptance that does not follow the rules is refused",
        arguments: [
            "permessage-deflate; unknown", "permessage-deflate; unknown=1", "permessage-deflate, permessage-deflate",
            "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_no_context_takeover=true",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            "permessage-deflate; server_max_window_bits", "permessage-deflate; client_max_window_bits",
            "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=08", "permessage-deflate; server_max_window_bits=+8",
            "permessage-deflate; server_max_window_bits=1e1", "permessage-deflate; client_max_window_bits=\"\"",
            "permessage-deflate; client_max_window_bits=10; client_max_window_bits=10",
            "permessage-deflate; Server_No_Context_Takeover", "Permessage-Deflate", "x-webkit-deflate-frame",
            "permessage-deflate, x-other", "permessage-deflate;", "permessage-deflate; =1", "permessage-deflate; a=",
            "permessage-deflate; client_max_window_bits=\"9", "permessage-deflate x", ";", "permessage-deflate; \"a\"",
        ])
    func wrongParameters(_ value: String) {
        #expect(throws: TrellisError.WebSocketFailure.self) { try Self.extensions(value).get() }
    }

    @Test(
        "The server must keep within an offer that asks for something",
        arguments: [
            (WebSocketCompression(serverWindowBits: 10), "permessage-deflate; server_max_window_bits=10", true),
            (WebSocketCompression(serverWindowBits: 10), "permessage-deflate; server_max_window_bits=9", true),
            (WebSocketCompression(serverWindowBits: 10), "permessage-deflate; server_max_window_bits=11", false),
            (WebSocketCompression(serverWindowBits: 10), "permessage-deflate", false),
            (WebSocketCompression(clientWindowBits: 10), "permessage-deflate; client_max_window_bits=11", false),
            (WebSocketCompression(clientWindowBits: 10), "permessage-deflate", true),
            (WebSocketCompression(serverKeepsContext: false), "permessage-deflate", false),
            (
                WebSocketCompression(serverKeepsContext: false), "permessage-deflate; server_no_context_takeover", true
            ),
            (WebSocketCompression(clientKeepsContext: false), "permessage-deflate", true),
        ])
    func offers(_ offer: WebSocketCompression, _ value: String, _ isAccepted: Bool) {
        let result = Self.extensions(value, offer)
        if isAccepted {
            #expect(throws: Never.self) { try result.get() }
        } else {
            #expect(throws: TrellisError.WebSocketFailure.self) { try result.get() }
        }
    }

    @Test func aClientThatPromisedLittleKeepsToIt() throws {
        let offer = WebSocketCompression(clientWindowBits: 10, clientKeepsContext: false)
        let deflate = try #require(try Self.extensions("permessage-deflate", offer).get().compression)
        #expect(deflate.clientWindowBits == 10 && !deflate.clientKeepsContext)
    }

    @Test(
        "The offer has the parameters that its settings need",
        arguments: [
            (WebSocketCompression(), "permessage-deflate; client_max_window_bits"),
            (WebSocketCompression(clientWindowBits: 9), "permessage-deflate; client_max_window_bits=9"),
            (
                WebSocketCompression(serverWindowBits: 3, clientKeepsContext: false, serverKeepsContext: false),
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                    + "server_max_window_bits=8; client_max_window_bits"
            ),
        ])
    func offer(_ compression: WebSocketCompression, _ text: String) {
        #expect(WebSocketDeflate.offer(compression) == text)
    }

    @Test(
        "The examples of FIPS 180 are hashed",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            (String(repeating: "a", count: 1000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
        ])
    func hashes(_ text: String, _ hash: String) {
        let digits = SHA1.hash(Array(text.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        #expect(digits.joined() == hash)
    }
}
