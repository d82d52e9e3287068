import Foundation
import Testing

/// Recordings of the exchanges: `--har`.
@Suite(.timeLimit(.minutes(60))) struct RecordingTests {
    private static let secrets = [
        "-H", "Authorization: Bearer s3cret", "-H", "Cookie: a=s3cret", "--form", "user=ann",
        "--form", "password=s3cret",
    ]

    /// Runs the client with a recording, and returns its entries.
    private func record(
        _ arguments: [String], status: Int32 = 0, in folder: TemporaryFolder? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [JSON] {
        let folder = try folder ?? TemporaryFolder()
        let run = try await client(
            arguments + ["--har", folder["run.har"]], in: folder, sourceLocation: sourceLocation)
        #expect(run.status == status, "\(arguments): \(run.errors)", sourceLocation: sourceLocation)
        return try await entries(in: folder, sourceLocation: sourceLocation)
    }

    /// Returns the entries of a recording, which must be HAR 1.2.
    private func entries(in folder: TemporaryFolder, sourceLocation: SourceLocation = #_sourceLocation) async throws
        -> [JSON]
    {
        let run = try await python("har.py", [folder["run.har"], "json.dumps(e)"])
        guard let entries = try? JSON(parsing: run.output) else {
            Issue.record("\(run.text) \(run.errors)", sourceLocation: sourceLocation)
            return []
        }
        return entries.elements
    }

    /// The URL of an entry's request, without that of the server.
    private func target(of entry: JSON) -> String {
        let text = entry["request"]["url"].text
        return text.hasPrefix(url) ? String(text.dropFirst(url.count)) : text
    }

    @Test func aRecordingHasTheRequestAndTheResponse() async throws {
        let folder = try TemporaryFolder()
        let run = try await client(["\(url)/", "--har", folder["run.har"]], in: folder)
        #expect(run.text == "hello world", "the output is as without it")
        #expect(run.status == 0)
        let entries = try await entries(in: folder)
        #expect(entries.map { target(of: $0) } == ["/"])
        for entry in entries {
            #expect(
                entry.values("request.method", "response.status", "_attempt", "serverIPAddress")
                    == ["GET", 200, 1, "127.0.0.1"])
            #expect(
                entry["response"]["content"].values("text", "size", "mimeType")
                    == ["hello world", 11, "text/plain; charset=utf-8"])
        }
        let permissions = try FileManager.default.attributesOfItem(atPath: folder["run.har"])[.posixPermissions]
        #expect(permissions as? Int == 0o600, "only its user may read it")
    }

    @Test func eachHopIsRecorded() async throws {
        let entries = try await record(["\(url)/redirect/2"])
        #expect(entries.map { target(of: $0) } == ["/redirect/2", "/redirect/1", "/request"])
        #expect(
            entries.map { $0["response"].values("status", "redirectURL") }
                == [[302, "../redirect/1"], [302, "/request"], [200, ""]])
        guard let first = entries.first, let last = entries.last else { return }
        #expect(first["connection"] == last["connection"], "the connection is kept")
        #expect(last["timings"]["connect"] == -1)
        #expect(first["timings"]["connect"].double >= 0)
    }

    @Test func eachAttemptIsRecorded() async throws {
        let entries = try await record(["\(url)/flaky/2?recorded", "--retries", "2"])
        #expect(entries.map { $0.values("_attempt", "response.status") } == [[1, 503], [2, 503], [3, 200]])
        #expect(Set(entries.map { $0["_callID"] }).count == 1)
    }

    @Test func aResponseThatIsCutShortIsRecorded() async throws {
        let entries = try await record(["\(url)/cut"], status: 18)
        #expect(entries.map { $0["response"].values("status", "content.text") } == [[200, "only this"]])
        #expect(entries.allSatisfy { $0["response"]["_error"].text.contains("cut short") })
    }

    @Test func aServerThatIsNotThereIsRecorded() async throws {
        let entries = try await record(["http://127.0.0.1:1/"], status: 7)
        #expect(entries.map { $0["response"]["status"] } == [0])
        #expect(entries.allSatisfy { $0["response"]["_error"].text.contains("no connection") })
    }

    // MARK: Secrets

    @Test func secretsAreNotRecorded() async throws {
        let entries = try await record(
            ["\(url)/status/200?token=s3cret"] + Self.secrets + ["--user", "ann:s3cret"])
        #expect(!"\(entries)".contains("s3cret"))
        #expect(
            entries.map { $0["request"].values("postData.text", "cookies", "queryString") } == [
                [
                    "user=ann&password=REDACTED", [["name": "a", "value": "REDACTED"]],
                    [["name": "token", "value": "REDACTED"]],
                ]
            ])
    }

    @Test func secretPartsOfAFormAreNotRecorded() async throws {
        let entries = try await record(["\(url)/status/200", "--part", "user=ann", "--part", "password=s3cret"])
        #expect(!"\(entries)".contains("s3cret"))
        #expect(entries.map { $0["request"]["postData"]["text"].text.ranges(of: "REDACTED").count } == [1])
    }

    @Test func secretsOfACompressedBodyAreNotRecorded() async throws {
        let entries = try await record(["\(url)/status/200", "--compress", "--json", #"{"password":"s3cret"}"#])
        #expect(entries.map { $0["request"]["postData"]["text"] } == [#"{"password":"REDACTED"}"#])
    }

    @Test func secretsAreRecordedIfTheyAreAskedFor() async throws {
        let entries = try await record(["\(url)/status/200?token=s3cret"] + Self.secrets + ["--show-secrets"])
        #expect("\(entries)".ranges(of: "s3cret").count > 4)
    }

    // MARK: Bodies

    @Test func bytesAreRecordedAsBase64() async throws {
        let entries = try await record(["\(url)/binary"])
        #expect(entries.map { $0["response"]["content"]["encoding"] } == ["base64"])
        #expect(
            entries.map { Data(base64Encoded: $0["response"]["content"]["text"].text) }
                == [Data(UInt8.min...UInt8.max)])
    }

    @Test func theBeginningOfALongBodyIsRecorded() async throws {
        let entries = try await record(["\(url)/bytes/3000000"])
        #expect(entries.map { $0["response"]["content"]["size"] } == [3_000_000])
        #expect(entries.map { $0["response"]["content"]["text"].text.utf8.count } == [1 << 20])
    }

    @Test func eachConnectionOfEventsIsRecorded() async throws {
        let entries = try await record(["\(url)/events", "--stream", "sse", "--limit", "2"])
        #expect(entries.map { $0["response"]["status"] } == [200, 200])
    }

    @Test func downloadsAreRecorded() async throws {
        let folder = try TemporaryFolder()
        let file = try await record(["\(url)/", "-o", folder["file"]], in: folder)
        #expect(file.map { $0["response"].values("status", "content.size") } == [[200, 11]])
        folder.remove("run.har")
        let pieces = try await record(["\(url)/ranges/1000007/cut-3", "-o", folder["file"]], in: folder)
        #expect(pieces.first?["response"]["status"] == 200)
        #expect(Set(pieces.dropFirst().map { $0["response"]["status"] }) == [206], "a file in pieces")
        folder.remove("run.har")
        let several = try await record(
            ["\(url)/bytes/1000", "\(url)/bytes/2000", "-o", folder["several/"]], in: folder)
        #expect(Set(several.map { $0["response"]["content"]["size"] }) == [1000, 2000])
        #expect(several.count == 2)
    }

    // MARK: Ends

    @Test func controlCCompletesTheRecording() async throws {
        let folder = try TemporaryFolder()
        let running = try await startInTurn(["\(url)/stuck", "--har", folder["run.har"]], in: folder)
        try await running.prints("only this")
        running.interrupt()
        #expect(try await running.ended().status == 130)
        let entries = try await entries(in: folder)
        #expect(
            entries.map { $0["response"].values("status", "_error", "content.text") }
                == [[200, "cancelled", "only this"]])
    }

    @Test func theRecordingOfAProcessThatIsKilledHasWhatWasComplete() async throws {
        let folder = try TemporaryFolder()
        let running = try start(
            ["\(url)/stuck", "\(url)/bytes/1000", "-o", folder["files/"], "--har", folder["run.har"]], in: folder)
        try await wait {
            guard folder.has("run.har"), let file = try? JSON(parsing: folder.data(of: "run.har")) else { return false }
            return file["log"]["entries"].elements.count == 1
        }
        running.kill()
        try await running.ended()
        let entries = try await entries(in: folder)
        #expect(entries.map { $0["response"]["content"]["size"] } == [1000])
    }

    @Test func aRecordingThatCannotBeWrittenIsAFailure() async throws {
        let folder = try TemporaryFolder()
        let path = folder["none/run.har"]
        let run = try await report(["\(url)/", "--har", path], status: 1)
        #expect(run.report.values("error.kind", "status") == ["file", .null])
        #expect(run.errors.lines(with: "the recording \(path) cannot be written: ").count == 1)
    }

    @Test func wrongUsage() async throws {
        try await expectUsageError(["\(url)/", "--har", ""])
        try await expectUsageError(["\(url)/", "--har", "run.har", "--curl"])
    }
}
