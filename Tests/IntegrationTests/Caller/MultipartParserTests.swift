import Foundation
import Testing
import Trellis

/// Forms are read by three parsers that are independent of Trellis: Werkzeug's, python-multipart's, and that of Python's `email`.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct MultipartParserTests {
    /// A part as a parser reports it.
    struct Parsed: Decodable, Equatable, Sendable {
        let name: String?
        let filename: String?
        let type: String?
        let content: Data

        /// The part with its quotes restored. Werkzeug removes the escape of quotes; the others keep it.
        var unescaped: Parsed {
            Parsed(
                name: name?.replacing("%22", with: "\""), filename: filename?.replacing("%22", with: "\""), type: type,
                content: content)
        }
    }

    /// The process with the parsers, which reads all forms.
    private static let process = Task { try PythonProcess(["\(Peer.folder)/forms.py"]) }

    static let parsers = ["werkzeug", "python-multipart", "email"]

    @Test(arguments: [
        "plain", "two words", "semi;colon=equals", "Grüße", "日本語 \u{1F33F}", "say \"hi\"", "a'b", "a,b", "100% <&>",
    ])
    func namesArriveAsTheyWere(_ name: String) async throws {
        var form = MultipartFormData()
        form.append("value", withName: name)
        form.append(Data("file".utf8), withName: name, fileName: name + ".txt")
        try await check(
            form,
            [
                Parsed(name: name, filename: nil, type: nil, content: Data("value".utf8)),
                Parsed(name: name, filename: name + ".txt", type: "text/plain", content: Data("file".utf8)),
            ])
    }

    @Test(arguments: [
        "", "\r\n", "--", "\r\n--", "\r\n--trellis-\r\n", "text\r\n", "\n\r\n\r", String(repeating: "-", count: 300),
    ])
    func contentsArriveAsTheyWere(_ text: String) async throws {
        var form = MultipartFormData()
        form.append(text, withName: "text")
        form.append(Data(text.utf8), withName: "file", fileName: "a.bin", mimeType: "application/x-test")
        try await check(
            form,
            [
                Parsed(name: "text", filename: nil, type: nil, content: Data(text.utf8)),
                Parsed(name: "file", filename: "a.bin", type: "application/x-test", content: Data(text.utf8)),
            ])
    }

    @Test func filesAndStreamsArriveAsTheyWere() async throws {
        let path = try temporaryFolder("multipart") + "/bytes.gz"
        let bytes = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        try bytes.write(to: URL(filePath: path))
        var form = MultipartFormData()
        form.append(fileAt: path, withName: "file")
        form.append(
            .stream {
                AsyncStream<Data> {
                    $0.yield(bytes.prefix(1000)); $0.finish()
                }
            }, withName: "stream",
            fileName: "s.json")
        try await check(
            form,
            [
                Parsed(name: "file", filename: "bytes.gz", type: "application/gzip", content: bytes),
                Parsed(name: "stream", filename: "s.json", type: "application/json", content: bytes.prefix(1000)),
            ])
    }

    /// Mixed parts are found by `email`, the only parser that reads inside them.
    @Test func mixedPartsAreFound() async throws {
        var form = MultipartFormData()
        form.append("x", withName: "before")
        let inner = MultipartFormData.Part(.multipartMixed([.init(.string("deep", contentType: "text/css"))]))
        form.append(
            .multipartMixed([.init(.string("one", contentType: nil), fileName: "1.css"), inner]), withName: "files")
        let parsed = try await Self.parse(form)["email"]
        #expect(
            parsed == [
                Parsed(name: "before", filename: nil, type: nil, content: Data("x".utf8)),
                Parsed(name: "files", filename: "1.css", type: "text/css", content: Data("one".utf8)),
                Parsed(name: "files", filename: nil, type: "text/css", content: Data("deep".utf8)),
            ])
    }

    private func check(_ form: MultipartFormData, _ expected: [Parsed]) async throws {
        let parsed = try await Self.parse(form)
        for parser in Self.parsers {
            #expect(parsed[parser]?.map(\.unescaped) == expected, "\(parser)")
        }
    }

    private static func parse(_ form: MultipartFormData) async throws -> [String: [Parsed]] {
        let path = try temporaryFolder("multipart") + "/\(UUID().uuidString)"
        try await form.encode().write(to: URL(filePath: path))
        let line = try await process.value.ask("\(path) \(form.contentType)")
        return try JSONDecoder().decode([String: [Parsed]].self, from: Data(line.utf8))
    }
}
