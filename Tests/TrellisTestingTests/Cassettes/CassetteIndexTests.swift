import FoundationEssentials
import Testing
import Trellis

@testable import TrellisTesting

/// The places of the entries of a document.
struct CassetteIndexTests {
    private static func lines(_ json: String) throws -> [String] {
        try CassetteIndex(Data(json.utf8)).places.map { "\($0.method) \($0.url)" }
    }

    @Test func theEntriesAreFound() throws {
        let json = """
            \u{FEFF} {"a": [1, {"entries": []}], "log": {"version": "1.2", "pages": [{"request": {}}], "entries": [
              {"time": 1, "request": {"headers": [{"name": "url", "value": "x"}], "url": "http://a.example/",
                "method": "GET"}, "response": {"content": {"text": "{\\"request\\": \\"}]\\\\"}}},
              {"request": {"method": "PO\\u0053T", "url": "http:\\/\\/b.example\\/\\"", "postData": {"method": "x"}}}
            ], "comment": "]"}}
            """
        #expect(try Self.lines(json) == ["GET http://a.example/", "POST http://b.example/\""])
    }

    @Test func theRangeOfAnEntryIsTheEntry() throws {
        let data = Data(
            #"{"log":{"entries":[ {"request":{"method":"GET","url":"a"}} ,{"request":{"method":"PUT","url":"b"}}]}}"#
                .utf8)
        let ranges = try CassetteIndex(data).places.map { String(decoding: data[$0.range], as: UTF8.self) }
        #expect(ranges == [#"{"request":{"method":"GET","url":"a"}}"#, #"{"request":{"method":"PUT","url":"b"}}"#])
    }

    @Test func aDocumentWithoutEntries() throws {
        #expect(try Self.lines(#"{"log":{"entries":[]}}"#) == [])
        #expect(try Self.lines(String(decoding: HARDocument().json(), as: UTF8.self)) == [])
    }

    @Test(
        arguments: [
            ("", 0, "a JSON object is expected"), ("[]", 0, "a JSON object is expected"),
            ("{}", 0, "it has no member \"log\""),
            (#"{"log":{}}"#, 9, "its log has no member \"entries\""),
            (#"{"log":[]}"#, 7, "the object \"log\" is expected"),
            (#"{"log":{"entries":{}}}"#, 18, "the list of entries is expected"),
            (#"{"log":{"entries":[1]}}"#, 19, "an entry is expected"),
            (#"{"log":{"entries":[{}]}}"#, 19, "an entry has no method or no URL"),
            (#"{"log":{"entries":[{"request":{"method":"GET"}}]}}"#, 19, "an entry has no method or no URL"),
            (#"{"log":{"entries":[{"request":1}]}}"#, 30, "a request is expected"),
            (
                #"{"log":{"entries":[{"request":{"method":"GET","url":"a"}} {"#, 58,
                "a comma between entries is expected"
            ),
            (#"{"log":{"entries":["#, 19, "an entry is expected"), (#"{"log" 1}"#, 7, "a colon is expected"),
            (#"{"log":{"entries":[{"response":{"text":"abc"#, 31, "a complete value is expected"),
            (#"{log:1}"#, 1, "the name of a member is expected"),
            (#"{"a":1 "b":2}"#, 7, "a comma between members is expected"),
        ])
    func whatIsNoDocumentIsAnError(_ json: String, _ offset: Int, _ reason: String) {
        #expect(throws: CassetteIndex.Malformed(offset: offset, reason: reason)) { try CassetteIndex(Data(json.utf8)) }
    }

    /// A document that is cut anywhere is an error, and none is read beyond its end.
    @Test func aDocumentThatIsCutIsAnError() throws {
        var entry = HARDocument.Entry(
            startedDateTime: "", request: .init(method: "GET", url: "http://a.example/\"\\"),
            response: .init(status: 200))
        entry.response.content.text = "{\"a\": [\"\\\"]}"
        let whole = try HARDocument(entries: [entry, entry]).json()
        #expect(try CassetteIndex(whole).places.count == 2)
        for count in 0..<whole.count {
            #expect(throws: CassetteIndex.Malformed.self, "cut after \(count) bytes") {
                try CassetteIndex(whole.prefix(count))
            }
        }
    }

    @Test(arguments: 0..<64 as Range<UInt64>)
    func anyBytesAreRead(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "{", "}", "[", "]", "\"log\"", "\"entries\"", "\"request\"", "\"url\"", "\"method\"", ":", ",", "\"", "\\",
            "1", " ",
        ]
        let text =
            "{\"log\":{\"entries\":[" + (0..<200).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
        // Nothing but an end within the bytes is expected.
        let places = (try? CassetteIndex(Data(text.utf8)))?.places ?? []
        #expect(places.allSatisfy { $0.range.upperBound <= text.utf8.count })
    }

    /// A slice of data has indices of its own.
    @Test func aSliceIsRead() throws {
        let data = Data("xxxxx".utf8) + Data(#"{"log":{"entries":[{"request":{"method":"GET","url":"a"}}]}}"#.utf8)
        let slice = data[(data.startIndex + 5)...]
        let file = try CassetteFile(slice, Cassette(path: "a.har"))
        #expect(file.count == 1 && file.bytes(0) == Data(#"{"request":{"method":"GET","url":"a"}}"#.utf8))
    }
}
