import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The metrics in the field `Server-Timing`.
struct ServerTimingTests {
    /// A metric as browsers report it: without a duration or a description, they report zero and an empty text.
    struct Metric: Equatable, Sendable {
        let name: String
        let milliseconds: Double
        let description: String

        init(_ name: String, _ milliseconds: Double = 0, _ description: String = "") {
            (self.name, self.milliseconds, self.description) = (name, milliseconds, description)
        }

        init(_ timing: ServerTiming) {
            self.init(timing.name, (timing.duration ?? .zero) / .milliseconds(1), timing.description ?? "")
        }
    }

    /// A field's value, and the metrics in it.
    typealias Case = (value: String, metrics: [Metric])

    /// The cases of the web platform tests (`server-timing/resources/parsing`).
    static let cases: [Case] = wellFormed + malformed + quoted + nameless

    private static let wellFormed: [Case] = [
        ("", []), ("metric", [Metric("metric")]),
        // Parameters.
        ("metric;dur=123.4", [Metric("metric", 123.4)]), (#"metric;dur="123.4""#, [Metric("metric", 123.4)]),
        ("metric;desc=description", [Metric("metric", 0, "description")]),
        (#"metric;desc="description""#, [Metric("metric", 0, "description")]),
        ("metric;dur=123.4;desc=description", [Metric("metric", 123.4, "description")]),
        ("metric;desc=description;dur=123.4", [Metric("metric", 123.4, "description")]),
        // Every character of a token, and separators in a quoted string.
        ("aB3!#$%&'*+-.^_`|~", [Metric("aB3!#$%&'*+-.^_`|~")]),
        (#"metric;desc="descr;,=iption";dur=123.4"#, [Metric("metric", 123.4, "descr;,=iption")]),
        // Blanks.
        ("metric ; ", [Metric("metric")]), ("metric , ", [Metric("metric")]),
        ("metric ; dur = 123.4 ; desc = description", [Metric("metric", 123.4, "description")]),
        ("metric ; desc = description ; dur = 123.4", [Metric("metric", 123.4, "description")]),
        (#"metric;desc = "description""#, [Metric("metric", 0, "description")]),
        ("metric;\tdesc=\ttabs-should-get-trimmed\t;dur=\t42\t", [Metric("metric", 42, "tabs-should-get-trimmed")]),
        // Several metrics.
        (
            "metric1;dur=12.3;desc=description1,metric2;dur=45.6;desc=description2,metric3;dur=78.9;desc=description3",
            [
                Metric("metric1", 12.3, "description1"), Metric("metric2", 45.6, "description2"),
                Metric("metric3", 78.9, "description3"),
            ]
        ),
        (
            "metric1,metric2 ,metric3, metric4 , metric5",
            [Metric("metric1"), Metric("metric2"), Metric("metric3"), Metric("metric4"), Metric("metric5")]
        ),
        (
            "metric;dur=12.3;desc=description1,metric;dur=45.6;desc=description2",
            [Metric("metric", 12.3, "description1"), Metric("metric", 45.6, "description2")]
        ),
        // Quoted strings.
        ("metric;desc=\"\t description \t\"", [Metric("metric", 0, "\t description \t")]),
        (#"metric;desc="descr\"iption""#, [Metric("metric", 0, #"descr"iption"#)]),
        // The case of names.
        ("metric;DuR=123.4;DeSc=description", [Metric("metric", 123.4, "description")]),
        ("MeTrIc;desc=DeScRiPtIoN", [Metric("MeTrIc", 0, "DeScRiPtIoN")]),
    ]

    private static let malformed: [Case] = [
        // No numbers.
        ("metric;dur=foo", [Metric("metric")]), (#"metric;dur="foo""#, [Metric("metric")]),
        // Unknown and repeated parameters, and parameters without values.
        (
            "metric1;foo=bar;desc=description;foo=bar;dur=123.4;foo=bar,metric2",
            [Metric("metric1", 123.4, "description"), Metric("metric2")]
        ),
        ("metric;dur=123.4;dur=567.8", [Metric("metric", 123.4)]),
        ("metric;dur=foo;dur=567.8", [Metric("metric")]),
        ("metric;desc=description1;desc=description2", [Metric("metric", 0, "description1")]),
        ("metric;dur;dur=123.4;desc=description", [Metric("metric", 0, "description")]),
        ("metric;dur=;dur=123.4;desc=description", [Metric("metric", 0, "description")]),
        ("metric;desc;desc=description;dur=123.4", [Metric("metric", 123.4)]),
        ("metric;desc=;desc=description;dur=123.4", [Metric("metric", 123.4)]),
        // Text after values and names.
        ("metric;desc=d1 d2;dur=123.4", [Metric("metric", 123.4, "d1")]),
        ("metric1;desc=d1 d2,metric2", [Metric("metric1", 0, "d1"), Metric("metric2")]),
        (#"metric;desc="d1" d2;dur=123.4"#, [Metric("metric", 123.4, "d1")]),
        (#"metric1;desc="d1" d2,metric2"#, [Metric("metric1", 0, "d1"), Metric("metric2")]),
        (#"metric==   ""foo;dur=123.4"#, [Metric("metric", 123.4)]),
        (#"metric1==   ""foo,metric2"#, [Metric("metric1"), Metric("metric2")]),
        ("metric;dur foo=12", [Metric("metric")]), ("metric;foo dur=12", [Metric("metric")]),
    ]

    /// All texts of up to four quotation marks (q) and backslashes (b), of which only two are a description.
    private static let quoted: [Case] = {
        let empty = """
            b q bb bq qb qq bbb bbq bqb bqq qbb qbq qqb qqq bbbb bbbq bbqb bbqq bqbb bqbq bqqb bqqq qbbb qbqb qqbb qqbq qqqb qqqq
            """
        var cases: [Case] = empty.split(separator: " ").map { ("metric;desc=\(marks(String($0)))", [Metric("metric")]) }
        cases.append(("metric;desc=\(marks("qbbq"))", [Metric("metric", 0, "\\")]))
        cases.append(("metric;desc=\(marks("qbqq"))", [Metric("metric", 0, "\"")]))
        return cases
    }()

    private static let nameless: [Case] =
        [" ", "=", "[", "]", ";", ",", "=;", ";=", "=,", ",=", ";,", ",;", "=;,"].map { ($0, []) }

    private static func marks(_ letters: String) -> String {
        String(letters.map { $0 == "q" ? "\"" : "\\" })
    }

    @Test(arguments: cases)
    func theCasesOfTheWebPlatformTests(_ value: String, _ metrics: [Metric]) {
        #expect(ServerTiming.metrics(in: value).map(Metric.init) == metrics)
    }

    @Test func anAbsentParameterIsNone() {
        #expect(ServerTiming.metrics(in: "a;dur=x") == [ServerTiming(name: "a")])
        #expect(
            ServerTiming.metrics(in: "a;dur=0;desc=\"\"")
                == [ServerTiming(name: "a", duration: .zero, description: "")])
    }

    /// An element without a name does not end the list.
    @Test func elementsWithoutNamesAreLeftOut() {
        #expect(ServerTiming.metrics(in: ",a, ;dur=1,=x,b").map(\.name) == ["a", "b"])
    }

    @Test(arguments: ["inf", "nan", "0x10", "1e400", "1e15", "-1e300", "1.2.3", "٣"])
    func aNumberBeyondTheRangeOfDurationsIsNone(_ number: String) {
        #expect(ServerTiming.metrics(in: "a;dur=\(number)") == [ServerTiming(name: "a")])
    }

    @Test func theFieldsOfTheHeadAndTheTrailers() {
        var fields = HTTPFields()
        fields.append(HTTPField.acceptEncoding("x"))
        fields["Server-Timing"] = "db;dur=53.5, cache;desc=miss"
        var trailers = HTTPFields()
        trailers["server-timing"] = "total;dur=-1"
        let response = Response(
            head: ResponseHead(status: .ok, headers: fields), url: "http://a.example/", trailers: trailers)
        #expect(
            response.serverTimings == [
                ServerTiming(name: "db", duration: .milliseconds(53.5)),
                ServerTiming(name: "cache", description: "miss"),
                ServerTiming(name: "total", duration: .milliseconds(-1)),
            ])
        #expect(response.head.serverTimings.map(\.name) == ["db", "cache"])
        #expect(response.metrics.serverTimings == response.serverTimings)
        #expect(response.metrics == Metrics(), "the reports of a server are no measurements")
    }

    /// The end of an exchange, and the error of a body that was cut off, have the reports of the server too.
    @Test func theMetricsOfAnEndAndOfAnErrorHaveTheReports() async throws {
        var fields = HTTPFields()
        fields["Server-Timing"] = "db;dur=2"
        let headers = fields
        let transport = MockTransport { request in
            MockResponse(headers: headers) { writer in
                try await writer.write("x")
                if request.path == "/cut" { throw TransportFailure(.exchangeFailed(.receive("lost"))) }
            }
        }
        let session = Session(transport: transport, clock: TestClock())
        let events = session.requestEvents
        let (_, response) = try await session.data("http://a.example/whole")
        #expect(response.metrics.serverTimings.map(\.name) == ["db"])
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/cut") }
        #expect(error?.metrics.serverTimings.map(\.name) == ["db"])
        var ends: [[String]] = []
        for await event in events {
            if case .exchangeEnded(let metrics, _) = event.kind { ends.append(metrics.serverTimings.map(\.name)) }
            if ends.count == 2 { break }
        }
        #expect(ends == [["db"], ["db"]])
    }

    /// Any text is read to its end, in time that grows with its length alone, and every name is a token.
    @Test(arguments: 0..<64 as Range<UInt64>)
    func anyTextIsRead(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = ["\"", "\\", ";", ",", "=", " ", "\t", "a", "dur", "desc", "1", ".", "é", "\0", "{"].map {
            Array($0.utf8)
        }
        let bytes = Cuts.bytes(of: pieces, upTo: 2_000, &random)
        let metrics = ServerTiming.metrics(in: String(decoding: bytes, as: UTF8.self))
        #expect(metrics.allSatisfy { !$0.name.isEmpty && $0.name.utf8.allSatisfy(FieldScanner.isTokenByte) })
        #expect(metrics.count <= bytes.count { $0 == UInt8(ascii: ",") } + 1)
    }
}
