import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Recordings are read by a reader of HAR 1.2 in Python, which knows the format from its specification alone.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct HARReaderTests {
    /// The words of the reader.
    private struct Reading: Decodable {
        let entries: Int
        /// Whether the entries are in the order of their instants, which the specification prefers.
        let isSorted: Bool
        let problems: [String]
    }

    private let folder: Folder

    init() throws { folder = try Folder() }

    private func read(_ name: String) async throws -> Reading {
        let line = try await Peer.output(of: "har.py", [folder(name)])
        return try JSONDecoder().decode(Reading.self, from: Data(line.utf8))
    }

    private static func answer(_ request: LoopbackServer.ReceivedRequest) -> LoopbackServer.Response {
        switch request.path {
        case "/moved":
            LoopbackServer.Response(
                status: 302,
                headers: [
                    .location: "/end?a=%20b&c=",
                    .setCookie: "id=7; Path=/; Expires=Wed, 21 Oct 2037 07:28:00 GMT; HttpOnly",
                ])
        case "/binary":
            LoopbackServer.Response(
                headers: [.contentType: "application/octet-stream"], body: Data([0, 255, 254]))
        case "/empty": LoopbackServer.Response(status: 204)
        case "/cut":
            LoopbackServer.Response(
                body: .raw { try $0.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") })
        case "/echo": LoopbackServer.Response(headers: [.contentType: "text/plain"], body: request.body)
        default: .text("hello")
        }
    }

    @Test func aRecordingIsAsTheSpecificationSays() async throws {
        let server = try LoopbackServer.http { Self.answer($0) }
        let recorder = HARRecorder(file: folder("recording.har"), bodyLimit: 1 << 20, revealsSecrets: true)
        var configuration = SessionConfiguration()
        configuration.steps.cookies = CookieJar()
        configuration.record(into: recorder)
        let session = Session(configuration: configuration)
        for target in ["/moved", "/binary", "/empty", "/cut", "/query?q=%C3%A9+1&b&x=1=2"] {
            _ = try? await session.data(server.url(target))
        }
        _ = try await session.upload(Data("a=b&c=%20".utf8), to: server.url("/echo"))
        _ = try await session.data(
            Request(server.url("/echo"), method: .post, body: .string("été", contentType: "text/plain")))
        _ = try await session.data(Request(server.url("/"), method: .head))
        _ = try? await session.data(ClosedPort().url("/refused"))
        await session.shutdown()
        try await recorder.finish()
        let reading = try await read("recording.har")
        #expect(reading.problems == [])
        // The redirect has two entries, and each of the eight other requests has one.
        #expect(reading.entries == 10 && reading.isSorted)
    }

    /// An entry, and what the reader finds wrong with it.
    struct Flaw: Sendable, CustomTestStringConvertible {
        var instant = "2026-11-22T10:30:45.123Z"
        var time = 0.0
        var location = "/b"
        /// The words of the only problem; `nil` if there is none.
        let problem: String?

        var testDescription: String { problem ?? "none" }
    }

    /// A reader that found nothing would prove nothing.
    @Test(arguments: [
        Flaw(problem: nil), Flaw(instant: "2026-11-22 10:30", problem: "startedDateTime: is not valid"),
        Flaw(instant: "2026-11-22T10:30:45.123", problem: "startedDateTime: is not valid"),
        Flaw(time: 5, problem: "has the time 5, and timings whose sum is 0"),
        Flaw(time: -1, problem: "time: is not valid"),
        Flaw(location: "/other", problem: "has a redirectURL that is not its field Location"),
    ])
    func theReaderFindsAFlaw(_ flaw: Flaw) async throws {
        var response = HARDocument.Response(
            status: 302, headers: [HARDocument.Field(name: "Location", value: flaw.location)])
        response.redirectURL = "/b"
        var entry = HARDocument.Entry(
            startedDateTime: flaw.instant, request: HARDocument.Request(method: "GET", url: "http://a.example/"),
            response: response)
        entry.time = flaw.time
        folder.write(try HARDocument(entries: [entry]).json(), to: "flawed.har")
        let problems = try await read("flawed.har").problems
        #expect(problems.count == (flaw.problem == nil ? 0 : 1))
        #expect(problems.allSatisfy { $0.contains(flaw.problem ?? "none") }, "\(problems)")
    }
}
