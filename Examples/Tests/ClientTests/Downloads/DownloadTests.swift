import Foundation
import Testing

/// `-o FILE`.
@Suite(.timeLimit(.minutes(60))) struct DownloadTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aFileHasTheBodyAndTheOutputHasNothing() async throws {
        let run = try await client(["\(url)/", "-o", folder["a"]])
        #expect(try folder.text(of: "a") == "hello world")
        #expect(run.status == 0 && run.text == "")
        #expect(try folder.names() == ["a"])
    }

    @Test func aFileIsNotAskedForCoded() async throws {
        _ = try await client(["\(url)/request", "-o", folder["a"]])
        #expect(try folder.text(of: "a").lines.starting(with: "Accept-Encoding") == ["Accept-Encoding: identity"])
    }

    @Test func theReportHasTheBodyOfAFile() async throws {
        let run = try await report(["\(url)/", "--output", folder["a"]])
        #expect(run.report.values("ok", "status") == [true, 200])
        #expect(run.report["body"] == ["bytes": 11, "base64": "aGVsbG8gd29ybGQ="])
    }

    @Test func aLargeFileReplacesAnotherOneAndHasItsChecksum() async throws {
        try folder.write("hello world", to: "a")
        let bytes = Data(repeating: UInt8(ascii: "x"), count: 3_000_000)
        let run = try await client(
            ["\(url)/bytes/3000000", "-o", folder["a"], "--checksum", "sha256:\(try await sha256(bytes))"])
        #expect(run.status == 0)
        #expect(try folder.data(of: "a") == bytes)
        #expect(try folder.names() == ["a"])
    }

    @Test func anotherChecksumIsAFailureAndTheOldFileStays() async throws {
        try folder.write("old", to: "a")
        let checksum = "sha256:\(try await sha256(Data("x".utf8)))"
        let run = try await report(["\(url)/", "-o", folder["a"], "--checksum", checksum], status: 1)
        #expect(run.report.values("ok", "error.kind") == [false, "other"])
        #expect(try folder.text(of: "a") == "old")
        #expect(try folder.names() == ["a"])
    }

    @Test func theOldFileStaysWhenTheStatusIsNotAccepted() async throws {
        try folder.write("old", to: "a")
        let run = try await client(["\(url)/status/404", "-o", folder["a"], "--validate"])
        #expect(run.status == 22)
        #expect(try folder.text(of: "a") == "old")
        #expect(try folder.names() == ["a"])
    }

    @Test func thePageOfAnErrorIsAFileToo() async throws {
        try folder.write("old", to: "a")
        let run = try await client(["\(url)/status/404", "-o", folder["a"]])
        #expect(run.status == 0)
        #expect(try folder.text(of: "a") == "so be it\n")
        #expect(try folder.names() == ["a"])
    }

    @Test func aFileInNoFolderIsAFailureBeforeTheRequest() async throws {
        let run = try await report(["\(url)/", "-o", folder["none/a"]], status: 1)
        #expect(run.report.values("error.kind", "error.attempts") == ["file", 0])
    }

    /// A limit on the size of files has the same effect as a full disk.
    @Test func aFileWithoutRoomIsAFailureAndLeavesNothing() async throws {
        let run = try await shell(
            #"ulimit -f 100; trap '' XFSZ; exec "$trellis" "$1" -o "$2""#, ["\(url)/bytes/3000000", folder["a"]])
        #expect(run.status == 23)
        #expect(run.errors.lines(with: "cannot be written: File too large").count == 1)
        #expect(try folder.names() == [])
    }

    // MARK: Dates

    /// The time of `Last-Modified`.
    private static let date = Date(timeIntervalSince1970: 784_111_777)

    private func date(of name: String) throws -> Date? {
        try FileManager.default.attributesOfItem(atPath: folder[name])[.modificationDate] as? Date
    }

    @Test func aFileHasTheTimeOfTheServerIfAsked() async throws {
        #expect(try await client(["\(url)/dated", "-R", "-o", folder["a"]]).status == 0)
        #expect(try date(of: "a") == Self.date)
        #expect(try await client(["\(url)/dated", "-o", folder["b"]]).status == 0)
        #expect(try date(of: "b") != Self.date)
        // Without a `Last-Modified`, there is no such time.
        let run = try await client(["\(url)/", "-R", "-o", folder["c"]])
        #expect(run.status == 0 && run.messages == [])
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "6 Nov 1994 08:49:37", "1994-11-06 08:49:37", "1994-11-06T08:49:37Z",
        "19941106 08:49:37", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func aDateIsACondition(_ text: String) async throws {
        // The server shows what it gets.
        let shown = try await client(["\(url)/dated", "-z", "-\(text)"])
        #expect(shown.text == "Sun, 06 Nov 1994 08:49:37 GMT" && shown.errors == "")
        #expect(try await report(["\(url)/dated", "-z", text]).report["status"] == 304)
    }

    /// What curl's users write to fetch a file again only if it has changed.
    @Test func aFileStaysIfNothingHasChanged() async throws {
        let command = ["\(url)/dated", "-z", folder["a"], "-o", folder["a"]]
        let first = try await client(command + ["-R"])
        #expect(first.status == 0 && first.errors.lines(with: "-z is ignored").count == 1)
        #expect(try folder.text(of: "a") == "new" && date(of: "a") == Self.date)
        try folder.write("old", to: "a")
        for options in [[], ["--validate"], ["--fail"]] {
            let second = try await client(command + options)
            #expect(second.status == 0 && second.text == "" && second.messages == [], "\(options): \(second.errors)")
            #expect(try folder.text(of: "a") == "old" && folder.names() == ["a"])
        }
        #expect(try await report(command).report.values("ok", "status") == [true, 304])
    }
}
