import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The bodies in the lines of a log.
@Suite(.timeLimit(.minutes(3)))
struct RequestLogBodyTests {
    /// Returns the lines with bodies that a session logs while it works.
    ///
    /// - Parameter limit: The limit on bodies; `nil` for the level with header fields.
    private static func lines(
        _ limit: Int?, _ response: MockResponse = .text("hello"), composite: Bool = false,
        _ work: (Session) async throws -> Void
    ) async throws -> [String] {
        let lines = Locked<[String]>([])
        let log = RequestLog(limit.map { .bodies(limit: $0) } ?? .headers) { line in
            lines.withLock {
                $0.append(line.replacing(#/ \[.*\]/#, with: "").replacing(#/\(call \d+\)/#, with: "(call)"))
            }
        }
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [composite ? CompositeEventMonitor([log]) : log]
        let session = Session(
            configuration: configuration, transport: MockTransport { _ in response }, clock: TestClock())
        try await work(session)
        await session.shutdownAfterEvents()
        return lines.withLock { $0 }.filter { line in [" queued ", "/ body of "].contains { line.contains($0) } }
    }

    private static let url = "http://a.example/"

    @Test(arguments: [true, false])
    func bothBodiesAreWritten(_ isComposite: Bool) async throws {
        let request = Request(Self.url, method: .post, body: .string("ping"))
        let lines = try await Self.lines(100, composite: isComposite) { _ = try await $0.data(request) }
        #expect(
            lines == [
                "POST http://a.example/ queued 0 ms (call): ping",
                "POST http://a.example/ body of 5 bytes 0 ms (call): hello",
            ])
    }

    @Test func otherLevelsWriteNone() async throws {
        let request = Request(Self.url, method: .post, body: .string("ping"))
        let lines = try await Self.lines(nil) { _ = try await $0.data(request) }
        #expect(lines == ["POST http://a.example/ queued 0 ms (call)"])
    }

    @Test func secretsAreRedactedAsInARecording() async throws {
        let body = Data(#"{"name":"Ada","password":"s3cret"}"#.utf8)
        let response = MockResponse(
            headers: [.contentType: "application/json"], body: Data(#"{"access_token":"s3cret","id":7}"#.utf8))
        let request = Request(
            Self.url, method: .post, headers: [.contentType: "application/json"], body: .data(body))
        let form = Request(Self.url, method: .post, body: .form(["a": "b", "client_secret": "s3cret"]))
        let lines = try await Self.lines(1000, response) {
            _ = try await $0.data(request)
            _ = try await $0.data(form)
        }
        #expect(!lines.joined().contains("s3cret"))
        #expect(lines[0].hasSuffix(#": {"name":"Ada","password":"REDACTED"}"#))
        #expect(lines[1].hasSuffix(#": {"access_token":"REDACTED","id":7}"#))
        #expect(lines[2].hasSuffix(": a=b&client_secret=REDACTED"))
    }

    /// A secret that the limit cuts is none the less one.
    @Test func aBodyIsCutAtTheLimit() async throws {
        let response = MockResponse(
            headers: [.contentType: "application/json"], body: Data(#"{"id":7,"token":"s3cret"}"#.utf8))
        let lines = try await Self.lines(20, response) { _ = try await $0.data(Self.url) }
        #expect(lines[1].contains(" body of 25 bytes ") && lines[1].hasSuffix("…") && !lines[1].contains("s3c"))
        let text = try await Self.lines(4) { _ = try await $0.data(Self.url) }
        #expect(text[1].hasSuffix(": hell…"))
    }

    @Test func bytesAndControlCharactersAreDescribed() async throws {
        let bytes = MockResponse(headers: [.contentType: "image/png"], body: Data([0x89, 0x50, 0xFF, 0x00]))
        let lines = try await Self.lines(100, bytes) { _ = try await $0.data(Self.url) }
        #expect(lines[1].hasSuffix(": 4 bytes that are not text"))
        let text = try await Self.lines(100, .text("a\nb")) { _ = try await $0.data(Self.url) }
        #expect(text[1].hasSuffix(#": a\nb"#))
        let empty = try await Self.lines(100, MockResponse(status: 204)) { _ = try await $0.data(Self.url) }
        #expect(empty.last?.hasSuffix(" body of 0 bytes 0 ms (call)") == true)
    }

    @Test func theBodyOfAStreamIsALineAtItsEnd() async throws {
        let lines = try await Self.lines(100) {
            let response = try await $0.stream(Self.url)
            var body = Data()
            for try await chunk in response.chunks { body.append(chunk) }
            #expect(body == Data("hello".utf8))
        }
        #expect(lines.last == "GET http://a.example/ body of 5 bytes 0 ms (call): hello")
    }

    @Test func theStepIsNotOneOfTheConfiguration() {
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [RequestLog(.bodies(limit: 1))]
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("a") })
        #expect(session.configuration.steps.network.isEmpty)
    }
}
