import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The event stream format, to the letter of WHATWG HTML, section 9.2.
struct ServerSentEventParserTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let events: [ServerSentEvent]
        init(_ name: String, _ text: String, _ events: ServerSentEvent...) {
            (self.name, self.text, self.events) = (name, text, events)
        }
        var testDescription: String { name }
    }

    static func event(
        _ data: String, _ event: String = "message", id: String = "", retry: Int? = nil
    ) -> ServerSentEvent {
        ServerSentEvent(event: event, data: data, id: id, retry: retry.map { .milliseconds($0) })
    }

    static let examples = [
        Row("several lines of data", "data: YHOO\ndata: +2\ndata: 10\n\n", event("YHOO\n+2\n10")),
        Row(
            "a comment, an ID, its reset, and an event that is not complete",
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            event("first event", id: "1"), event("second event")),
        Row("data that is empty", "data\n\ndata\ndata\n\ndata:", event(""), event("\n")),
        Row("the space after the colon", "data:test\n\ndata: test\n\n", event("test"), event("test")),
        Row(
            "types", "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", event("73857293", "add"),
            event("2153", "remove")),
    ]

    static let rules = [
        Row("nothing", ""),
        Row("blank lines", "\n\n\r\n\r"),
        Row(
            "all line ends", "data:1\r\ndata:2\rdata:3\n\r\ndata:4\r\rdata:5\n\n", event("1\n2\n3"), event("4"),
            event("5")),
        Row("a byte order mark at the start", "\u{FEFF}data:1\n\n", event("1")),
        Row("a second byte order mark", "\u{FEFF}\u{FEFF}data:1\n\ndata:2\n\n", event("2")),
        Row(
            "a byte order mark elsewhere", "data:1\n\n\u{FEFF}data:2\n\ndata:\u{FEFF}3\n\n", event("1"),
            event("\u{FEFF}3")),
        Row("a byte order mark alone on its line", "\u{FEFF}\ndata:1\n\n", event("1")),
        Row("half a byte order mark and the end", "\u{FEFF}"),
        Row("one space alone is left out", "data:  x\n\ndata:\t y\n\n", event(" x"), event("\t y")),
        Row("colons in a value", "data:a:b: c\n\n", event("a:b: c")),
        Row("fields that are not known", "foo:1\n data:2\ndata :3\nDATA:4\ndata:5\ndataset:6\ndat:7\n\n", event("5")),
        Row("comments", ":\n: a\n:data:1\ndata:2\n:x\n\n", event("2")),
        Row(
            "an event without data is none, and its type is forgotten", "event:a\nid:1\n\ndata:x\n\n",
            event("x", id: "1")),
        Row("the last type counts", "event:a\nevent:b\ndata:x\n\n", event("x", "b")),
        Row("an empty type is the default", "event:a\nevent:\ndata:x\n\nevent\ndata:y\n\n", event("x"), event("y")),
        Row(
            "an ID stays", "id:7\ndata:a\n\ndata:b\n\nid:8\n\ndata:c\n\n", event("a", id: "7"), event("b", id: "7"),
            event("c", id: "8")),
        Row(
            "an ID with NUL is none", "id:1\ndata:a\n\nid:2\u{0}\ndata:b\n\nid:\u{0}\ndata:c\n\n", event("a", id: "1"),
            event("b", id: "1"), event("c", id: "1")),
        Row("an ID of spaces", "id:  x \ndata:a\n\n", event("a", id: " x ")),
        Row("NUL elsewhere", "data:\u{0}\nevent:\u{0}\n\n", event("\u{0}", "\u{0}")),
        Row("a time", "retry: 1500\ndata:a\n\ndata:b\n\n", event("a", retry: 1500), event("b")),
        Row(
            "times that are none",
            "retry:1s\nretry:-1\nretry:\nretry\nretry:1.5\nretry:１\nretry: 1 \nretry:  1\ndata:a\n\n", event("a")),
        Row("the last time counts", "retry:1\nretry:x\nretry:020\ndata:a\n\n", event("a", retry: 20)),
        Row("a time without an event", "retry:5\n\ndata:a\n\n", event("a")),
        Row("a time without end", "retry:99999999999999999999999\ndata:a\n\n", event("a", retry: .max)),
        Row("text beyond ASCII", "data:grün 日本 🏳️‍🌈\nevent:é\nid:ü\n\n", event("grün 日本 🏳️‍🌈", "é", id: "ü")),
        Row(
            "other line ends of Unicode are data", "data:a\u{85}b\u{2028}c\u{0B}d\n\n",
            event("a\u{85}b\u{2028}c\u{0B}d")),
        Row("an event that is not complete", "data:a\n\ndata:b\n", event("a")),
        Row("an event that is not complete, after a carriage return", "data:a\r\rdata:b\r", event("a")),
    ]

    @Test(arguments: examples + rules)
    func eventsAreTheSameHoweverTheyAreCut(_ row: Row) {
        for pieces in Cuts.all(Array(row.text.utf8)) {
            let run = MachineRun(ServerSentEventParser(limit: 1000), pieces)
            #expect(run.outputs == row.events, "\(pieces)")
            #expect(run.failure == nil)
        }
    }

    @Test(arguments: 0..<100)
    func randomStreamsCutAtRandomAreTheSame(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet: [[UInt8]] =
            [
                "data", "data:", "data: ", "id:", "event:", "retry:", "\n", "\r", "\r\n", "\n\n", ":", " ", "1", "é",
                "\u{FEFF}", "\0",
            ]
            .map { Array($0.utf8) } + [[0xFF], [0xE2], [0x82]]
        let bytes = Cuts.bytes(of: alphabet, upTo: 150, &random)
        let whole = MachineRun(ServerSentEventParser(limit: 1000), [bytes])
        for _ in 0..<10 {
            let pieces = Cuts.random(bytes, longest: 7, &random)
            #expect(MachineRun(ServerSentEventParser(limit: 1000), pieces).outputs == whole.outputs, "\(pieces)")
        }
    }

    @Test func bytesThatAreNoUTF8AreReplaced() {
        let bytes = Array("data:a".utf8) + [0xFF, 0xE2, 0x82] + Array("\ndata:".utf8) + [0xAC] + Array("\n\n".utf8)
        let run = MachineRun(ServerSentEventParser(limit: 1000), [bytes])
        #expect(run.outputs == [Self.event("a\u{FFFD}\u{FFFD}\n\u{FFFD}")])
    }

    // MARK: State across events

    private func parser(after text: String, lastEventID: String = "") throws -> ServerSentEventParser {
        var parser = ServerSentEventParser(limit: 1000, lastEventID: lastEventID)
        parser.append(Data(text.utf8))
        var events: [ServerSentEvent] = []
        try parser.fill(&events)
        return parser
    }

    @Test func theLastEventIDIsThatOfTheLastBlankLine() throws {
        #expect(try parser(after: "id:1\n").lastEventID == "")
        #expect(try parser(after: "id:1\n\n").lastEventID == "1")
        #expect(try parser(after: "id:1\n\nid:2\ndata:x").lastEventID == "1")
        #expect(try parser(after: "id:1\ndata:x\n\nid\n\n").lastEventID == "")
    }

    @Test func theLastEventIDOfAnEarlierStreamGoesOn() throws {
        #expect(try parser(after: "data:x\n", lastEventID: "7").lastEventID == "7")
        let run = MachineRun(
            ServerSentEventParser(limit: 1000, lastEventID: "7"), [Array("data:a\n\nid\ndata:b\n\n".utf8)])
        #expect(run.outputs.map(\.id) == ["7", ""])
    }

    @Test func theReconnectionTimeCountsAtOnce() throws {
        #expect(try parser(after: "retry:1500\n").reconnectionTime == .milliseconds(1500))
        #expect(try parser(after: "retry:1500\n\nretry:x\n").reconnectionTime == .milliseconds(1500))
        #expect(try parser(after: "data:x\n\n").reconnectionTime == nil)
    }

    // MARK: Limits

    static let tooLarge: [String] = [
        "data:\(String(repeating: "x", count: 100))",
        ":\(String(repeating: "x", count: 100))",
        String(repeating: "data:1234567\n", count: 10),
        String(repeating: "data\n", count: 60),
    ]

    @Test(arguments: tooLarge, [1, 7, 1000])
    func anEventAboveTheLimitIsAnError(_ text: String, _ length: Int) {
        let bytes = Array("data:a\n\n\(text)".utf8)
        let pieces = stride(from: 0, to: bytes.count, by: length).map {
            Array(bytes[$0..<min($0 + length, bytes.count)])
        }
        let run = MachineRun(ServerSentEventParser(limit: 50), pieces)
        #expect(run.outputs == [Self.event("a")])
        #expect(run.kind == .bodyTooLarge)
    }

    @Test func manyEventsBelowTheLimitAreNoError() {
        let run = MachineRun(
            ServerSentEventParser(limit: 50), [Array(String(repeating: "data:1234567\n:x\n\n", count: 100).utf8)])
        #expect(run.outputs.count == 100)
        #expect(run.failure == nil)
    }
}
