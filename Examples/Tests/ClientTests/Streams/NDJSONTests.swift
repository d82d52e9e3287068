import Foundation
import Testing

/// `--stream ndjson`: each line of the body is JSON.
@Suite(.timeLimit(.minutes(60))) struct NDJSONTests {
    @Test func eachLineIsAnItemOfTheReport() async throws {
        let run = try await report(["\(url)/ndjson", "--stream", "ndjson"])
        #expect(run.report.values("ok", "items") == [true, [["b": 1.0, "a": "ü"], [12345678901234567890.0], "x"]])
        #expect(run.text.contains(#"{"b": 1.0, "#) && run.text.contains(", [12345678901234567890], "), "\(run.text)")
    }

    @Test func aLineIsPrintedAsItCame() async throws {
        let run = try await client(["\(url)/ndjson", "--stream", "ndjson", "--limit", "2"])
        #expect(run.output == Data(#"{"b": 1.0, "a": "\u00fc"}"#.utf8) + Data("\n[12345678901234567890]\n".utf8))
        #expect(run.status == 0)
    }

    @Test func aLineThatIsNoJSONIsAFailureAfterTheItemsBefore() async throws {
        let report = try await report(["\(url)/ndjson/bad", "--stream", "ndjson"], status: 1).report
        #expect(report.values("ok", "error.kind") == [false, "serialization"])
        #expect(report["items"].elements.count == 3)
        #expect(report["error"]["message"].text.contains("line 5 of the response is no JSON: "))
        #expect(report.values("attempts", "error.attempts") == [1, 1])
        #expect(report["metrics"]["first_byte_s"].double > 0)
    }

    /// A report with one of these texts would not be JSON either. Some of them are JSON for `JSONDecoder`.
    @Test(arguments: [
        #"{"a":1,}"#, "[1,]", "[1,,2]", #"{"a":1 "b":2}"#, "{a:1}", "{'a':1}", "01", "+1", ".5", "1.", "1e", "NaN",
        "[1] 2", #""a"#, "\"\t\"", #""\x""#, #""\u12g4""#, "nul", #"{"a"}"#, "[", "// x", "[1] // x", ",", "{,}",
        #"{"a":}"#, "-", "[1}",
    ])
    func aTextThatIsNoJSONIsAFailure(_ text: String) async throws {
        let run = try await report(["\(url)/echo", "--stream", "ndjson", "-d", text], status: 1)
        #expect(run.report.values("ok", "items", "error.kind") == [false, [], "serialization"])
    }

    @Test func aTextThatIsNotUTF8IsAFailure() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Data([0x22, 0xFF, 0x22]), to: "latin")
        let run = try await report(["\(url)/echo", "--stream", "ndjson", "-d", "@\(folder["latin"])"], status: 1)
        #expect(run.report.values("ok", "items", "error.kind") == [false, [], "serialization"])
    }

    @Test(arguments: [
        "{}", "[]", #"[[], {"a": [{}]}]"#, "-0.5e+10", #""\u00e9\ud83d\ude00\\\"\/\b\f\n\r\t""#, "true", "null",
        "  1  ", #"{"a":1,"a":2}"#, "123456789012345678901234567890",
        String(repeating: "[", count: 500) + String(repeating: "]", count: 500),
    ])
    func aTextThatIsJSONIsAnItem(_ text: String) async throws {
        let run = try await report(["\(url)/echo", "--stream", "ndjson", "-d", text])
        #expect(run.report.values("ok", "error") == [true, .null])
        #expect(run.report["items"].elements.count == 1)
    }
}
