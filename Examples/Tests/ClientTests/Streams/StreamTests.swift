import Foundation
import Testing

/// `--stream lines` and `--stream chunks`, and readers of the output.
@Suite(.timeLimit(.minutes(60))) struct StreamTests {
    @Test func linesArePrintedUpToALimit() async throws {
        let run = try await client(["\(url)/slow-lines", "--stream", "lines", "--limit", "3"])
        #expect(run.lines == ["line 1", "line 2", "line 3"])
        #expect(run.status == 0)
    }

    @Test func linesAreInTheReport() async throws {
        let run = try await report(["\(url)/slow-lines", "--stream", "lines", "--limit", "2"])
        #expect(run.report.values("ok", "items") == [true, ["line 1", "line 2"]])
    }

    /// A stream may have no end. The report has its first items, or as many as the limit says.
    @Test func aReportHasALimitedNumberOfItems() async throws {
        let all = try await report(["\(url)/lines/1002", "--stream", "lines"])
        #expect(all.report["items"].elements.count == 1000 && all.report["item_count"] == 1002)
        let some = try await report(["\(url)/lines/1002", "--stream", "lines", "--limit", "1001"])
        #expect(some.report["items"].elements.count == 1001 && some.report["item_count"] == 1001)
    }

    /// Control characters of a server would be commands to the terminal.
    @Test(arguments: [[], ["--include"], ["--stream", "lines"], ["--stream", "chunks"]])
    func aTerminalGetsNoControlCharacters(_ options: [String]) async throws {
        let body = "a\tb \u{1B}]0;title\u{7}\u{1B}[2J\u{9B}31m ü°\u{7F}"
        let run = try await python(
            "body_terminal.py", [Programs.trellis, "\(url)/echo", "-d", body] + options)
        #expect(run.report.text.contains("a\tb ?]0;title??[2J?31m ü°?"), "\(run.text)")
    }

    @Test func anEmptyBodyHasNoLines() async throws {
        let run = try await report(["\(url)/bytes/0", "--stream", "lines"])
        #expect(run.report["items"] == [])
    }

    /// The body stops after these bytes, so that they are one chunk however slow the client is.
    @Test func aChunkIsCountedAndIsNoItem() async throws {
        let run = try await report(["\(url)/stuck", "--stream", "chunks", "--limit", "1"])
        #expect(run.report.values("ok", "items", "body.bytes") == [true, .null, 9])
    }

    @Test func aReaderThatLeavesIsNoFailure() async throws {
        let run = try await shell(
            #""$trellis" "$1" | head -c 1; exit "${PIPESTATUS[0]}""#, ["\(url)/bytes/50000000"])
        #expect(run.text == "x")
        #expect(run.errors == "")
        #expect(run.status == 0)
    }

    @Test func aLargeBodyGoesThroughAPipe() async throws {
        let run = try await shell(#"set -o pipefail; "$trellis" "$1" | wc -c"#, ["\(url)/bytes/50000000"])
        #expect(run.lines == ["50000000"])
        #expect(run.status == 0)
    }

    @Test(arguments: [("line", "lines"), ("event", "sse"), ("ndjson", "ndjson")])
    func anItemMayHave16MB(kind: String, stream: String) async throws {
        let run = try await report(["\(url)/long/16000000/\(kind)", "--stream", stream, "--limit", "1"])
        let items = run.report.values("ok", "items")
        #expect(items[0] == true)
        #expect(items[1].elements.count == 1)
        let item = kind == "event" ? items[1][0]["data"] : items[1][0]
        #expect(item.text.utf8.count == 16_000_000)
    }

    @Test(arguments: [("line", "lines"), ("event", "sse"), ("ndjson", "ndjson")])
    func anItemOf17MBIsTooLarge(kind: String, stream: String) async throws {
        let run = try await report(["\(url)/long/17000000/\(kind)", "--stream", stream, "--limit", "1"], status: 1)
        #expect(run.report.values("items", "error.kind") == [[], "body_too_large"])
    }
}
