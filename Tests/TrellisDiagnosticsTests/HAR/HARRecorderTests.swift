import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The exchanges that a recorder records of sessions.
@Suite(.timeLimit(.minutes(3)))
struct HARRecorderTests {
    /// A session whose exchanges are recorded in memory.
    private struct Recorded {
        let recorder: HARRecorder
        let session: Session

        init(
            _ recorder: HARRecorder = HARRecorder(), steps: Steps = Steps(),
            _ handler: @escaping MockTransport.Handler
        ) {
            self.recorder = recorder
            var configuration = SessionConfiguration()
            configuration.steps = steps
            configuration.record(into: recorder)
            session = Session(configuration: configuration, transport: MockTransport(handler))
        }

        /// Ends the session, and returns the entries.
        func entries() async throws -> [HARDocument.Entry] {
            await session.shutdown()
            try await recorder.finish()
            return recorder.document.entries
        }
    }

    private static func line(_ entry: HARDocument.Entry) -> String {
        "\(entry.attempt ?? 0) \(entry.request.method) \(entry.request.url) \(entry.response.status)"
    }

    @Test func redirectsAndRetriesAreEntries() async throws {
        let retrier = Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry }
        let recorded = Recorded { request in
            switch request.path {
            case "/a": MockResponse(status: 302, headers: [.location: "/b"])
            case "/b" where request["X-Second"] == nil: MockResponse(status: 503)
            default: .text("hello")
            }
        }
        let request = Request("http://a.example/a").withRetrier(retrier).withAdapter(
            Adapter { request, context in
                context.attempt == 1 ? request : request.withHeader(HTTPField(name: .second, value: "1"))
            })
        let (_, response) = try await recorded.session.data(request)
        let entries = try await recorded.entries()
        #expect(
            entries.map(Self.line) == [
                "1 GET http://a.example/a 302", "1 GET http://a.example/b 503", "2 GET http://a.example/b 200",
            ])
        #expect(entries.allSatisfy { $0.callID == response.callID })
        try #require(entries.count == 3)
        #expect(entries[0].response.redirectURL == "/b")
        #expect(entries[2].request.headers.contains { $0.name == "X-Second" && $0.value == "1" })
        #expect(entries[2].response.httpVersion == "HTTP/1.1" && entries[2].response.statusText.isEmpty)
        for entry in entries { #expect(abs(entry.timings.sum - entry.time) < 1e-6 && entry.time >= 0) }
    }

    @Test func aFailure() async throws {
        let recorded = Recorded { _ in throw TransportFailure(.exchangeFailed(.receive("reset"))) }
        _ = try? await recorded.session.data("http://a.example/?sig=s3cret")
        let entry = try #require(try await recorded.entries().first)
        #expect(entry.request.url == "http://a.example/?sig=REDACTED")
        #expect(entry.response.status == 0 && entry.response.content.size == 0)
        #expect(entry.response.error == "the response could not be received: reset")
    }

    @Test func aCancellation() async throws {
        let never = LoopbackServer.Gate(), asked = LoopbackServer.Gate()
        let recorded = Recorded { _ in
            asked.open()
            try await never.opened()
            return .text("")
        }
        let call = Task { try await recorded.session.data("http://a.example/") }
        try await asked.opened()
        call.cancel()
        _ = await call.result
        #expect(try await recorded.entries().map(\.response.error) == ["cancelled"])
    }

    @Test(arguments: [false, true])
    func secretsAreRecordedOnlyIfTheyAreAskedFor(_ revealsSecrets: Bool) async throws {
        let recorded = Recorded(HARRecorder(bodyLimit: 1_000, revealsSecrets: revealsSecrets)) { _ in
            MockResponse(
                headers: [.setCookie: "a=s3cret; Path=/", .contentType: "application/json"],
                body: Data(#"{"refresh_token":"s3cret"}"#.utf8))
        }
        _ = try await recorded.session.data(
            Request(
                "http://ann:s3cret@a.example/?token=s3cret", method: .post,
                headers: [.authorization: "Bearer s3cret", .cookie: "b=s3cret"],
                body: .data(Data("user=ann&password=s3cret".utf8), contentType: "application/x-www-form-urlencoded")))
        let entry = try #require(try await recorded.entries().first)
        let json = String(decoding: try HARDocument(entries: [entry]).json(), as: UTF8.self)
        #expect(json.contains("s3cret") == revealsSecrets)
        #expect(entry.request.postData?.text == "user=ann&password=\(revealsSecrets ? "s3cret" : "REDACTED")")
        #expect(entry.request.postData?.mimeType == "application/x-www-form-urlencoded")
        #expect(entry.response.content.text == #"{"refresh_token":"\#(revealsSecrets ? "s3cret" : "REDACTED")"}"#)
        #expect(entry.request.bodySize == 24)
    }

    /// A small form is sent as bytes in memory, and a body in memory is compressed before it is sent.
    @Test(arguments: [false, true])
    func secretsOfFormsAndOfCompressedBodies(_ revealsSecrets: Bool) async throws {
        let recorded = Recorded(HARRecorder(bodyLimit: 1_000, revealsSecrets: revealsSecrets)) { _ in .text("") }
        var form = MultipartFormData(boundary: "B")
        form.append(MultipartFormData.Part(.string("s3cret", contentType: nil), name: "password"))
        var compressed = Request(
            "http://a.example/", method: .post,
            body: .data(Data(#"{"password":"s3cret"}"#.utf8), contentType: "application/json"))
        compressed.compression = .gzip
        for request in [Request("http://a.example/", method: .post, body: .multipart(form)), compressed] {
            _ = try await recorded.session.data(request)
        }
        let bodies = try await recorded.entries().map { $0.request.postData?.text }
        let shown = revealsSecrets ? "s3cret" : "REDACTED"
        #expect(
            bodies == [
                "--B\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n\(shown)\r\n--B--\r\n",
                #"{"password":"\#(shown)"}"#,
            ])
    }

    // MARK: Bodies

    @Test func bodiesAreRecordedOnlyIfTheyAreAskedFor() async throws {
        let recorded = Recorded { _ in .text("hello") }
        #expect(recorded.session.configuration.steps.network.isEmpty)
        _ = try await recorded.session.upload(Data("body".utf8), to: "http://a.example/")
        let entry = try #require(try await recorded.entries().first)
        #expect(entry.request.postData?.text == nil && entry.request.postData?.comment == "not recorded")
        #expect(entry.response.content.text == nil && entry.request.bodySize == 4)
    }

    @Test func theBodyOfAStreamIsWhatItsReaderHasRead() async throws {
        let gate = LoopbackServer.Gate()
        let recorded = Recorded(HARRecorder(bodyLimit: 1_000)) { request in
            MockResponse { body in
                try await body.write("one")
                if request.path == "/whole" { return try await body.write("two") }
                try await gate.opened()
            }
        }
        var whole = Data()
        for try await chunk in try await recorded.session.stream("http://a.example/whole").chunks { whole += chunk }
        #expect(whole == Data("onetwo".utf8))
        for try await _ in try await recorded.session.stream("http://a.example/left").chunks { break }
        gate.open()
        let entries = try await recorded.entries()
        #expect(entries.map(\.response.content.text) == ["onetwo", "one"])
        #expect(entries.map(\.response.content.size) == [6, 3])
        try #require(entries.count == 2)
        #expect(entries[0].response.error == nil && entries[1].response.error == "cancelled")
    }

    @Test func theRestOfAStreamIsRecordedToo() async throws {
        let recorded = Recorded(HARRecorder(bodyLimit: 1_000)) { _ in
            MockResponse { body in for piece in ["one", "two", "three"] { try await body.write(piece) } }
        }
        _ = try await recorded.session.stream("http://a.example/").finalResponse()
        #expect(try await recorded.entries().map(\.response.content.text) == ["onetwothree"])
    }

    @Test func binaryAndLongBodies() async throws {
        let recorded = Recorded(HARRecorder(bodyLimit: 4)) { request in
            MockResponse(body: request.path == "/binary" ? Data([0xFF, 0, 1]) : Data("aé€😀".utf8))
        }
        _ = try await recorded.session.data("http://a.example/binary")
        _ = try await recorded.session.upload(Data("12345".utf8), to: "http://a.example/long")
        let entries = try await recorded.entries()
        try #require(entries.count == 2)
        #expect(entries[0].response.content.text == "/wAB" && entries[0].response.content.encoding == "base64")
        #expect(entries[0].response.content.comment == nil && entries[0].response.content.size == 3)
        // A character is not cut.
        #expect(entries[1].response.content.text == "aé" && entries[1].response.content.encoding == nil)
        #expect(entries[1].response.content.size == 10)
        #expect(entries[1].response.content.comment == "the first 3 bytes of 10")
        #expect(entries[1].request.postData?.text == "1234")
        #expect(entries[1].request.postData?.comment == "the first 4 bytes of 5")
    }

    @Test func bodiesThatAreNotInMemoryAreDescribed() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Data("s3cret".utf8), to: "file")
        let recorded = Recorded(HARRecorder(bodyLimit: 1_000)) { _ in .text("") }
        let path = folder.path("file")
        _ = try await recorded.session.upload(fileAt: path, to: "http://a.example/")
        let entry = try #require(try await recorded.entries().first)
        #expect(entry.request.postData?.comment == "a file, not recorded" && entry.request.postData?.text == nil)
    }

    /// Each exchange has its own body, however many there are at a time.
    @Test func manyExchangesAtATime() async throws {
        let recorded = Recorded(HARRecorder(bodyLimit: 1_000, maximumEntries: 1_000)) { request in .text(request.path) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    if number.isMultiple(of: 2) {
                        _ = try await recorded.session.data("http://a.example/\(number)")
                    } else {
                        for try await _ in try await recorded.session.stream("http://a.example/\(number)").chunks {}
                    }
                }
            }
            try await group.waitForAll()
        }
        let entries = try await recorded.entries()
        #expect(Set(entries.map(\.callID)).count == 300)
        #expect(entries.allSatisfy { $0.request.url == "http://a.example\($0.response.content.text ?? "")" })
    }

    /// A hit of the cache is no exchange, and what it asks for the first time has a cache status.
    @Test func aCache() async throws {
        var steps = Steps()
        steps.cache = HTTPCache()
        let recorded = Recorded(HARRecorder(bodyLimit: 1_000), steps: steps) { _ in
            MockResponse(headers: [.cacheControl: "max-age=60", .contentType: "text/plain"], body: Data("hello".utf8))
        }
        for _ in 0..<3 { _ = try await recorded.session.data("http://a.example/") }
        let entries = try await recorded.entries()
        #expect(entries.count == 1)
        #expect(entries.first?.cacheStatus?.hasPrefix("trellis; fwd=uri-miss") == true)
        #expect(entries.first?.response.content.text == "hello")
    }

    // MARK: Memory

    @Test func theLastEntriesAreKept() async throws {
        let recorder = HARRecorder(maximumEntries: 3)
        let recorded = Recorded(recorder) { _ in .text("") }
        for number in 1...10 { _ = try await recorded.session.data("http://a.example/\(number)") }
        let urls = try await recorded.entries().map(\.request.url)
        #expect(urls == [8, 9, 10].map { "http://a.example/\($0)" } && recorder.droppedEntryCount == 7)
    }

    /// A monitor that does nothing.
    private final class Silent: EventMonitor {
        func handle(_ event: RequestEvent) async {}
    }

    /// The request itself, with its body, its steps and its monitors, is not kept.
    @Test func anEntryKeepsNothingElseOfItsRequest() async throws {
        let recorder = HARRecorder()
        let recorded = Recorded(recorder) { _ in .text("") }
        weak var monitor: Silent?
        do {
            let silent = Silent()
            monitor = silent
            let request = Request("http://a.example/", method: .post, body: .data(Data(count: 1_000)))
            _ = try await recorded.session.data(request.withEventMonitor(silent))
        }
        let entry = try #require(try await recorded.entries().first)
        #expect(entry.request.bodySize == 1_000 && entry.request.postData?.text == nil)
        while monitor != nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(recorder.document.entries == [entry])
    }

    @Test func severalSessionsHaveOneRecorder() async throws {
        let recorder = HARRecorder()
        let one = Recorded(recorder) { _ in .text("") }, two = Recorded(recorder) { _ in .text("") }
        _ = try await one.session.data("http://one.example/")
        _ = try await two.session.data("http://two.example/")
        _ = try await one.entries()
        #expect(Set(try await two.entries().map(\.request.url)) == ["http://one.example/", "http://two.example/"])
    }
}

extension HTTPField.Name {
    fileprivate static let second = HTTPField.Name("X-Second") ?? .te
}
