import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisDiagnostics

/// Documents as JSON.
struct HARDocumentTests {
    @Test func whatIsWrittenIsRead() throws {
        var entry = HARDocument.Entry(
            startedDateTime: "2026-11-22T10:30:45.123Z",
            request: HARMessages.request(
                method: .put, url: "http://a.example/é?a=b", headers: [.contentType: "a/b"], body: Data([0, 255])),
            response: HARMessages.response(
                ResponseHead(status: .notFound, headers: [.setCookie: "a=b"], version: .http2)))
        entry.response.setBody(Data("{\"é\"}\n".utf8), size: 7)
        (entry.time, entry.timings.wait) = (1.5, 1.5)
        (entry.serverIPAddress, entry.connection) = ("192.0.2.1", "443")
        (entry.callID, entry.attempt, entry.cacheStatus, entry.proxy) = (
            7, 2, "trellis; fwd=uri-miss", "http://p.example"
        )
        entry.tls = "TLS 1.3, TLS_AES_256_GCM_SHA384, h2"
        var replay = HARDocument.Replay()
        replay.chunks = [[0.5, 3], [1, 4]]
        replay.failure = .init(kind: "receive", reason: "reset", isConnected: true)
        entry.replay = replay
        let document = HARDocument(entries: [entry], comment: "a comment")
        #expect(try HARDocument(json: document.json()) == document)
    }

    /// The properties that HAR requires are there, also in an exchange without a response.
    @Test func whatHARRequiresIsWritten() throws {
        let entry = HARDocument.Entry(
            startedDateTime: "2026-11-22T10:30:45.123Z", request: .init(method: "GET", url: "http://a.example/"),
            response: .init())
        let json = try JSONDecoder().decode(JSONValue.self, from: HARDocument(entries: [entry]).json())
        let log = try #require(json["log"])
        #expect(log["version"] == .string("1.2") && log["pages"] == .array([]))
        #expect(log["creator"] == .object(["name": .string("Trellis"), "version": .string(TrellisRuntime.version)]))
        let written = try #require(log["entries"]?[0])
        #expect(names(written) == ["cache", "request", "response", "startedDateTime", "time", "timings"])
        #expect(
            names(written["request"]) == [
                "bodySize", "cookies", "headers", "headersSize", "httpVersion", "method", "queryString", "url",
            ])
        #expect(
            names(written["response"]) == [
                "bodySize", "content", "cookies", "headers", "headersSize", "httpVersion", "redirectURL", "status",
                "statusText",
            ])
        #expect(names(written["response"]?["content"]) == ["mimeType", "size"])
        #expect(
            names(written["timings"]) == ["blocked", "connect", "dns", "receive", "send", "ssl", "wait"])
    }

    private func names(_ value: JSONValue?) -> [String] {
        guard case .object(let members)? = value else { return [] }
        return members.keys.sorted()
    }

    /// A document of a browser, with objects that are not kept.
    @Test func aDocumentOfABrowserIsRead() throws {
        let json = """
            {"log": {"version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"},
              "pages": [{"startedDateTime": "2026-11-22T10:30:45.123Z", "id": "page_1", "title": "t", "pageTimings": {}}],
              "entries": [{"_initiator": {"type": "other"}, "_priority": "High", "cache": {}, "connection": "443",
                "pageref": "page_1", "startedDateTime": "2026-11-22T10:30:45.123Z", "time": 30.5,
                "request": {"method": "GET", "url": "https://a.example/", "httpVersion": "h2", "cookies": [],
                  "headers": [{"name": ":authority", "value": "a.example"}, {"name": "accept", "value": "*/*"}],
                  "queryString": [], "headersSize": -1, "bodySize": 0},
                "response": {"status": 200, "statusText": "", "httpVersion": "h2", "cookies": [],
                  "headers": [{"name": "content-type", "value": "text/html"}],
                  "content": {"size": 2, "mimeType": "text/html", "text": "hi"}, "redirectURL": "",
                  "headersSize": -1, "bodySize": -1, "_transferSize": 100, "_error": null},
                "serverIPAddress": "192.0.2.1",
                "timings": {"blocked": 1.5, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": 28, "receive": 1,
                  "_blocked_queueing": 1}}]}}
            """
        let document = try HARDocument(json: Data(json.utf8))
        let entry = try #require(document.entries.first)
        let head = HARMessages.head(of: entry.response)
        #expect(head.status == .ok && head.version == .http2 && head.headers[.contentType] == "text/html")
        // A pseudo field is no field.
        #expect(HARMessages.fields(entry.request.headers).count == 1)
        #expect(entry.timings.sum == entry.time && entry.response.transferSize == 100 && entry.response.error == nil)
    }

    @Test(arguments: ["reason", "why"])
    func aFailureOfAnEarlierVersionIsRead(_ name: String) throws {
        let json = Data(#"{"kind": "receive", "\#(name)": "reset", "isConnected": true}"#.utf8)
        let failure = try JSONDecoder().decode(HARDocument.Replay.Failure.self, from: json)
        #expect(failure == .init(kind: "receive", reason: "reset", isConnected: true))
    }

    @Test func whatIsNoDocumentIsAnError() {
        #expect(throws: DecodingError.self) { try HARDocument(json: Data("{}".utf8)) }
    }

    @Test(
        arguments: [
            ("a=b", "a", "b"), (" a = b c ", "a", "b c"), ("=b", "", "b"), ("b", "", "b"), ("a=b=c", "a", "b=c"),
        ] as [(String, String, String)])
    func aCookieThatIsSent(_ text: String, _ name: String, _ value: String) {
        #expect(HARCookies.sent(text) == [HARDocument.NamedCookie(name: name, value: value)])
        let cookie = HARCookies.received("\(text); Path=/; HttpOnly")
        #expect(cookie.name == name && cookie.value == value && cookie.path == "/" && cookie.httpOnly == true)
    }

    @Test func aBeginningEndsWithAWholeCharacter() {
        let bytes = Data("aé€😀".utf8)
        for limit in 0...bytes.count {
            let beginning = CapturedBody.beginning(of: bytes, limit: limit)
            #expect(String(validating: beginning, as: UTF8.self) != nil && beginning.count > limit - 4)
        }
        #expect(CapturedBody.beginning(of: Data([0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), limit: 4).count == 4)
    }

    @Test(arguments: [[0xFF, 0xFE], [0x61, 0x00], [0xEF, 0xBB, 0xBF, 0x61], [], [0x61]] as [[UInt8]])
    func bytesComeBack(_ bytes: [UInt8]) {
        let (text, encoding) = HARMessages.text(of: Data(bytes))
        #expect(HARMessages.bytes(of: text, encoding: encoding) == Data(bytes))
        #expect((encoding == "base64") == (bytes == [0xFF, 0xFE] || bytes == [0x61, 0x00]))
    }
}
