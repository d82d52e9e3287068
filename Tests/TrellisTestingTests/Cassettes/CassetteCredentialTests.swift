import Foundation
import HTTPTypes
import Testing
import Trellis

@testable import TrellisTesting

/// A credential in use is in no recording, whatever the name under which it stands there.
@Suite(.timeLimit(.minutes(3)))
struct CassetteCredentialTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    /// Records requests in order, and returns the file.
    private func record(
        _ requests: [Request], _ change: (inout Cassette) -> Void = { _ in }, _ handler: @escaping MockTransport.Handler
    ) async throws -> String {
        var cassette = folder.cassette(.once)
        change(&cassette)
        let transport = CassetteTransport(cassette, upstream: MockTransport(handler))
        let session = Session(transport: transport)
        for request in requests { _ = try? await session.data(request) }
        try await transport.finish()
        return try folder.text()
    }

    private func request(_ path: String, _ fields: HTTPFields = HTTPFields(), body: String? = nil) -> Request {
        Request(
            "http://a.example\(path)", method: body == nil ? .get : .post, headers: fields,
            body: body.map { .data(Data($0.utf8), contentType: "application/json") })
    }

    @Test func theTokensOfARefreshAreNotWritten() async throws {
        let text = try await record([
            request("/token", body: #"{"refresh":"r1"}"#), request("/users/7", [.authorization: "Bearer new-secret"]),
        ]) { request in
            request.path == "/token"
                ? .json(#"{"access": "new-secret", "refresh": "r2", "id": "of new-secret", "left": 3}"#) : .json("{}")
        }
        #expect(!text.contains("new-secret") && !text.contains("r1") && !text.contains("r2"))
        let entry = try #require(try HARDocument(json: Data(text.utf8)).entries.first)
        #expect(
            entry.response.content.text
                == #"{"access": "REDACTED", "refresh": "REDACTED", "id": "of REDACTED", "left": 3}"#)
    }

    @Test(arguments: [
        #"s3cret/+"key"#, "s3cret%2F%2B%22key", "s3cret%2f%2b%22key", #"s3cret/+\"key"#, #"s3cret\/+\"key"#,
        #"s3cret/+\\\"key"#, #"s3cret\\/+\\\"key"#, "s3cret/%2B%22key", "s3cret/%2b%22key",
        #"s3cret\/\u002B\u0022key"#, #"\u0073\u0033cret/\u002b\"key"#, #"s3cret/\\u002B\\u0022key"#,
        #"s3cret\u00252F%2B%22key"#,
    ]) func aTokenIsFoundInEveryForm(_ form: String) async throws {
        let fields: HTTPFields = [.authorization: #"Bearer s3cret/+"key"#]
        let text = try await record([request("/a"), request("/b", fields)]) { _ in .text("before \(form) after") }
        let body = try #require(try HARDocument(json: Data(text.utf8)).entries.first?.response.content.text)
        #expect(body == "before REDACTED after")
    }

    @Test(arguments: [
        HTTPField(name: .cookie, value: "theme=dark; id=c00kie-value"),
        HTTPField(name: .authorization, value: "Basic \(Data("ada:c00kie-value".utf8).base64EncodedString())"),
        HTTPField(name: .init("X-Api-Key") ?? .cookie, value: "c00kie-value"),
    ]) func aCredentialOfEveryKindIsFound(_ field: HTTPField) async throws {
        let text = try await record([request("/", HTTPFields([field]))]) { _ in
            .json(#"{"echo": "c00kie-value", "theme": "dark"}"#)
        }
        #expect(!text.contains("c00kie-value") && text.contains("dark"))
    }

    @Test func aCookieThatIsSetAndASecretItemAreFound() async throws {
        let text = try await record([request("/a?api_key=k3y-of-the-query"), request("/b")]) { request in
            guard request.path == "/a" else { return .text("v4lue-of-the-cookie") }
            return .text("k3y-of-the-query, v4lue-of-the-cookie", headers: ["Set-Cookie": "id=v4lue-of-the-cookie"])
        }
        #expect(!text.contains("k3y-of-the-query") && !text.contains("v4lue-of-the-cookie"))
    }

    /// A server repeats the URL of a request as it was sent: what the caller has left unencoded is so there too.
    @Test(arguments: ["ab+cdef/gh==", "ab%2Bcdef/gh=="])
    func aSecretItemIsFoundAsItStandsInTheURL(_ item: String) async throws {
        let text = try await record([request("/a?api_key=\(item)")]) { request in .text(request.url) }
        let body = try #require(try HARDocument(json: Data(text.utf8)).entries.first?.response.content.text)
        #expect(body == "http://a.example/a?api_key=REDACTED")
    }

    @Test func theTokensOfJSONThatIsCutAreNotWritten() async throws {
        let text = try await record([request("/token")]) { _ in .text(#"{"access": "s3cret-key", "id": 7, "ref"#) }
        let body = try #require(try HARDocument(json: Data(text.utf8)).entries.first?.response.content.text)
        #expect(body == #"{"access": "REDACTED", "id": 7, "#)
    }

    @Test func aBinaryBodyIsSearchedToo() async throws {
        let text = try await record([request("/", [.authorization: "Bearer s3cret-key"])]) { _ in
            MockResponse(headers: [.contentType: "image/png"], body: Data([0xFF, 0xFE] + "s3cret-key".utf8))
        }
        let content = try #require(try HARDocument(json: Data(text.utf8)).entries.first?.response.content)
        let bytes = try #require(Data(base64Encoded: content.text ?? ""))
        #expect(bytes == Data([0xFF, 0xFE] + "REDACTED".utf8))
    }

    /// A request whose URL repeats a credential is found again.
    @Test func theRecordingIsReplayed() async throws {
        let asked = request("/sessions/s3cret-key", [.authorization: "Bearer s3cret-key"])
        _ = try await record([asked]) { _ in .text("hello") }
        let transport = CassetteTransport(folder.cassette(.none))
        #expect(try await Session(transport: transport).string(asked) == "hello")
        let other = request("/sessions/0ther-key", [.authorization: "Bearer 0ther-key"])
        let again = CassetteTransport(folder.cassette(.none))
        #expect(try await Session(transport: again).string(other) == "hello")
    }

    @Test func aShortValueAndADisabledSearchLeaveBodiesAlone() async throws {
        let short = try await record([request("/", [.authorization: "Bearer abc"])]) { _ in .text("the abc") }
        #expect(short.contains("the abc"))
        let kept = try await record([request("/", [.authorization: "Bearer s3cret-key"])]) {
            $0.scrubsUsedCredentials = false
            $0.mode = .all
        } _: { _ in
            .text("the s3cret-key")
        }
        #expect(kept.contains("the s3cret-key") && !kept.contains("Bearer s3cret-key"))
    }

    @Test func aCredentialThatIsLeftInTheFileIsAnError() async throws {
        _ = try await record([request("/old")]) { _ in .text("the s3cret-key") }
        let transport = CassetteTransport(folder.cassette(.new), upstream: MockTransport { _ in .text("hello") })
        _ = try await Session(transport: transport).data(request("/new", [.authorization: "Bearer s3cret-key"]))
        let error = await #expect(throws: CassetteError.self) { try await transport.finish() }
        #expect(error == .credential(path: folder.path(), entry: 1, request: "GET http://a.example/old"))
        #expect("\(error.map { "\($0)" } ?? "")".contains("do not commit the file"))
    }
}
