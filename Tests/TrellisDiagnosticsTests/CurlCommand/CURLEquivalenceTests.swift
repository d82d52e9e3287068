import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The system's `curl`, run with the description, sends the same request as Trellis.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Shell.hasCURL, "needs the curl command"))
struct CURLEquivalenceTests {
    /// A file whose name needs quoting at every layer.
    private static let file: String = {
        let path = FileManager.default.temporaryDirectory.path + "/trellis it's \"a\"; b,c\\d.css"
        _ = FileManager.default.createFile(atPath: path, contents: Data("body { color: green }\n".utf8))
        return path
    }()

    static var bodies: [RequestBody] {
        var form = MultipartFormData()
        form.append("@it's\n\"text\"; type=x", withName: "text")
        form.append(" a;\\b\" ", withName: "Grüße \"x\" ;,'")
        form.append(Data("{\"a\": 1}".utf8), withName: "typed", mimeType: "application/json; charset=utf-8")
        form.append(Data("n".utf8), withName: "named", fileName: "ü\"\\;,.txt")
        form.append(fileAt: file, withName: "file")
        form.append(
            fileAt: file, withName: "renamed", fileName: "x y.png", mimeType: "image/x",
            headers: [.contentLanguage: "de, \"en\"", .expires: "0"])
        form.append(
            .multipartMixed([.init(.file(file)), .init(.string("t", contentType: "text/x"))]), withName: "mixed")
        var binary = MultipartFormData()
        binary.append(Data([0, 1, 0xFF, 13, 10]), withName: "a=b")
        return [
            .string("it's\n%22 \\ $x"), .data(Data((0...255).map { UInt8($0) }), contentType: "x/y"),
            .data(Data("@x".utf8)), .data(Data()), .file(file, contentType: "text/css"), .multipart(form),
            .multipart(binary),
        ]
    }

    @Test(arguments: bodies.indices, [false, true])
    func theServerGetsTheSameBody(_ index: Int, _ isMultiline: Bool) async throws {
        var request = Request("", method: .put, body: Self.bodies[index])
        request.headers[.accept] = "*/*"
        let (ours, curls) = try await Self.send(&request, isMultiline)
        #expect(ours.method == "PUT" && curls.method == "PUT")
        #expect(ours.target == "/a%20b?q=%C3%BC&x=[1]" && curls.target == ours.target)
        #expect(Self.withoutBoundaries(curls.body, curls) == Self.withoutBoundaries(ours.body, ours))
        #expect(Self.type(curls) == Self.type(ours))
        #expect(curls["Content-Length"] == ours["Content-Length"] || Self.type(ours) == "multipart/form-data")
    }

    @Test func theServerGetsTheSameFields() async throws {
        var request = Request("", method: .put, body: .string("x", contentType: nil))
        request.headers = [
            .accept: "text/html, it's", .authorization: "Bearer a$b", .cookie: "a=\"b\"", .userAgent: "x/1",
        ]
        request.headers.append(.init(name: .acceptLanguage, value: "de"))
        request.headers.append(.init(name: .acceptLanguage, value: "en"))
        let (ours, curls) = try await Self.send(&request, false)
        func lines(_ request: LoopbackServer.ReceivedRequest) -> [String] {
            request.fields.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        }
        #expect(lines(curls) == lines(ours))
    }

    @Test func theServerIsAskedBeforeTheBodyIsSent() async throws {
        var request = Request("", method: .put, body: .string("x"))
        request.expectContinueTimeout = .seconds(30)
        let (ours, curls) = try await Self.send(&request, false)
        #expect(curls["Expect"] == "100-continue" && ours["Expect"] == "100-continue" && curls.body == ours.body)
    }

    /// The server receives the same form where curl's options cannot express a part: one whose argument is too long in curl's
    /// quotes, and one with a type at which curl would stop.
    @Test(arguments: [("\"", 70_000, "a/b"), ("'", 99_000, "a/b"), ("x", 10, "json")])
    func theServerGetsWhatTheOptionsCannotSay(_ text: String, _ count: Int, _ type: String) async throws {
        var form = MultipartFormData()
        form.append(Data(String(repeating: text, count: count).utf8), withName: "n", mimeType: type)
        var request = Request("", method: .put, body: .multipart(form))
        let (ours, curls) = try await Self.send(&request, false)
        #expect(Self.withoutBoundaries(curls.body, curls) == Self.withoutBoundaries(ours.body, ours))
    }

    @Test func aCompressedBodyIsTheSameForItsReader() async throws {
        var request = Request("", method: .put, body: .string(String(repeating: "again ", count: 100)))
        request.compression = .gzip
        let (ours, curls) = try await Self.send(&request, false)
        #expect(curls["Content-Encoding"] == "gzip" && ours["Content-Encoding"] == "gzip")
        let unzip = "printf '%s' '\(curls.body.base64EncodedString())' | base64 -d | gunzip"
        #expect(await Shell.output(of: unzip) == [UInt8](String(repeating: "again ", count: 100).utf8))
    }

    /// Sends a request with Trellis, then with curl.
    private static func send(
        _ request: inout Request, _ isMultiline: Bool
    ) async throws -> (LoopbackServer.ReceivedRequest, LoopbackServer.ReceivedRequest) {
        let server = try LoopbackServer.http { _ in .init() }
        request.url = server.url("/a b?q=ü&x=[1]")
        var configuration = SessionConfiguration()
        configuration.userAgent = nil
        configuration.decodesContent = false
        let session = Session(configuration: configuration)
        _ = try await session.data(request)
        var options = CURLDescriptionOptions(revealingSecrets: true, isMultiline: isMultiline)
        options.furtherArguments = ["--silent", "--show-error", "--noproxy", "*"]
        // A script in a file: the length of an argument is limited.
        let script = FileManager.default.temporaryDirectory.path + "/trellis-\(UUID().uuidString).sh"
        let command = "unset LD_LIBRARY_PATH\n" + request.cURLDescription(options)
        try Data(command.utf8).write(to: URL(filePath: script))
        _ = await Shell.output(of: "sh '\(script)'")
        try FileManager.default.removeItem(atPath: script)
        await session.shutdown()
        let requests = server.requests
        try #require(requests.count == 2)
        return (requests[0], requests[1])
    }

    private static func type(_ request: LoopbackServer.ReceivedRequest) -> String? {
        guard let type = request["Content-Type"] else { return nil }
        return type.hasPrefix("multipart/form-data") ? "multipart/form-data" : type
    }

    /// The body with its boundaries, the inner ones too, replaced by numbers.
    private static func withoutBoundaries(_ body: Data, _ request: LoopbackServer.ReceivedRequest) -> String {
        var text = String(decoding: body, as: UTF8.self)
        guard request["Content-Type"]?.hasPrefix("multipart/") == true else { return body.base64EncodedString() }
        let all = (request["Content-Type"] ?? "") + "\r\n" + text
        for (index, match) in all.matches(of: /boundary=([^\r\n"]+)/).enumerated() {
            text = text.replacingOccurrences(of: match.output.1, with: "BOUNDARY-\(index)")
        }
        return text
    }
}
