import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The fields by text of the verbs and handles that ``VerbParametersTests`` does not list.
@Suite(.timeLimit(.minutes(3)))
struct HeaderLiteralTests {
    private typealias Call = @Sendable (Session, String) async throws -> Void

    private static var chunks: AsyncStream<Data> { AsyncStream { $0.finish() } }
    private static let form = MultipartFormData()

    private static let calls: [(String, Call)] = [
        ("withResponse", { try await $0.withResponse(to: $1, headers: ["X-Trace": "1"]) { _, _ in } }),
        ("response", { _ = try await $0.response(Int.self, from: $1, headers: ["X-Trace": "1"]) }),
        (
            "response(orError:)",
            { _ = try await $0.response(Int.self, from: $1, orError: ProblemDetails.self, headers: ["X-Trace": "1"]) }
        ),
        (
            "decode(orError:)",
            { _ = try await $0.decode(Int.self, from: $1, orError: ProblemDetails.self, headers: ["X-Trace": "1"]) }
        ),
        ("pages", { for try await _ in $0.pages(of: Int.self, from: $1, headers: ["X-Trace": "1"]) {} }),
        ("withWebSocket", { try await $0.withWebSocket($1, headers: ["X-Trace": "1"]) { _ in } }),
        (
            "reconnectingWebSockets",
            { for try await _ in $0.reconnectingWebSockets($1, headers: ["X-Trace": "1"]) {} }
        ),
        (
            "downloadRequest(resuming:)",
            {
                let data = ResumeData(
                    url: $1, path: "/nowhere/a.part", done: [0..<5], totalBytes: 10, validator: .entityTag("\"v1\""))
                let file = try await $0.downloadRequest(resuming: data, headers: ["X-Trace": "1"]).value
                try FileManager.default.removeItem(atPath: file.path)
            }
        ),
        ("upload(Data)", { _ = try await $0.upload(Data([1]), to: $1, headers: ["X-Trace": "1"]) }),
        ("upload(fileAt:)", { _ = try await $0.upload(fileAt: #filePath, to: $1, headers: ["X-Trace": "1"]) }),
        ("upload(chunks)", { _ = try await $0.upload(chunks, length: 0, to: $1, headers: ["X-Trace": "1"]) }),
        ("upload(multipart:)", { _ = try await $0.upload(multipart: form, to: $1, headers: ["X-Trace": "1"]) }),
        (
            "upload(build)",
            { _ = try await $0.upload(to: $1, headers: ["X-Trace": "1"]) { $0.append("1", withName: "a") } }
        ),
        (
            "uploadRequest(Data)",
            { _ = try await $0.uploadRequest(Data([1]), to: $1, headers: ["X-Trace": "1"]).string() }
        ),
        (
            "uploadRequest(fileAt:)",
            { _ = try await $0.uploadRequest(fileAt: #filePath, to: $1, headers: ["X-Trace": "1"]).string() }
        ),
        (
            "uploadRequest(chunks)",
            { _ = try await $0.uploadRequest(chunks, length: 0, to: $1, headers: ["X-Trace": "1"]).string() }
        ),
        (
            "uploadRequest(multipart:)",
            { _ = try await $0.uploadRequest(multipart: form, to: $1, headers: ["X-Trace": "1"]).string() }
        ),
        (
            "uploadRequest(build)",
            {
                let upload = $0.uploadRequest(to: $1, headers: ["X-Trace": "1"]) { $0.append("1", withName: "a") }
                _ = try await upload.string()
            }
        ),
        (
            "request(parameters:)",
            { _ = try await $0.request($1, parameters: ["q": "a"], headers: ["X-Trace": "1"]).string() }
        ),
        (
            "request(parameters:encoding:)",
            {
                let parameters: [String: any Sendable] = ["q": "a"]
                _ = try await $0.request($1, parameters: parameters, headers: ["X-Trace": "1"]).string()
            }
        ),
    ]

    @Test(arguments: calls.map(\.0))
    func aVerbTakesFieldsByText(_ name: String) async throws {
        let transport = MockTransport { _ in .json("7") }
        let session = Session(transport: transport)
        let call = try #require(Self.calls.first { $0.0 == name }?.1)
        do { try await call(session, "http://a.example/x") } catch {
            #expect(name.contains("WebSocket"), "\(error)")
        }
        let request = try #require(transport.requests.first)
        #expect(request["X-Trace"] == "1")
        await session.shutdown()
    }

    @Test func thePartsOfAFormTakeFieldsByText() {
        var form = MultipartFormData()
        form.append(Data([1]), withName: "a", headers: ["X-Trace": "1"])
        form.append(fileAt: #filePath, withName: "b", headers: ["X-Trace": "1"])
        form.append(.string("x"), withName: "c", headers: ["X-Trace": "1"])
        form.append(.init(.string("x"), name: "d", headers: ["X-Trace": "1"]))
        let values = form.parts.map { part in part.headers["X-Trace"] ?? "none" }
        #expect(values == ["1", "1", "1", "1"])

        let part = MultipartFormData.Part(.string("x"), name: "a", headers: ["no token": "1"])
        let error = #expect(throws: TrellisError.self) { try part.head(in: .form) }
        #expect(error?.reason == .invalidRequest(.headerField("no token")))
    }
}
