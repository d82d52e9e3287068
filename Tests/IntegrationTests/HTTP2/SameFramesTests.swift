import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// The engine answers what a server must not send with the same frames, whichever libcurl and nghttp2 there are.
///
/// The codes are those of RFC 9113, section 7.
@Suite(.timeLimit(.minutes(3)))
struct SameFramesTests {
    /// Bytes of a server after the head of a first request, and what follows.
    struct Answer: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]
        let kind: TrellisError.Kind
        /// The code with which the client ends the connection.
        let goAway: Int
        /// The code with which it resets the stream, if it does.
        let reset: Int?

        var testDescription: String { name }

        init(_ name: String, _ bytes: [UInt8], kind: TrellisError.Kind, goAway: Int, reset: Int? = nil) {
            self.name = name
            self.bytes = bytes
            self.kind = kind
            (self.goAway, self.reset) = (goAway, reset)
        }
    }

    private static func frame(
        _ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
    ) -> [UInt8] {
        RawHTTP2.frame(kind, flags, stream: stream, payload)
    }

    private static func head(_ block: [UInt8]) -> [UInt8] {
        frame(RawHTTP2.headers, flags: RawHTTP2.endHeaders, stream: 1, block)
    }

    /// The setting of the window with which streams begin, with a value that is too large (RFC 9113, section 6.5.2).
    private static let hugeWindow: [UInt8] = [0, 4, 0x80, 0, 0, 0]

    static let answers: [Answer] = [
        Answer(
            "a reset", frame(RawHTTP2.reset, stream: 1, RawHTTP2.word(2)), kind: .http2, goAway: 0),
        Answer(
            "a GOAWAY with an error",
            frame(RawHTTP2.goAway, RawHTTP2.word(1) + RawHTTP2.word(2))
                + frame(RawHTTP2.reset, stream: 1, RawHTTP2.word(2)),
            kind: .http2, goAway: 0),
        Answer("content before the head", frame(RawHTTP2.data, stream: 1, [1]), kind: .http2, goAway: 1),
        Answer(
            "content of a stream that was never opened", frame(RawHTTP2.data, stream: 3, [1]), kind: .http2, goAway: 3),
        Answer(
            "a name in upper case", head(RawHTTP2.statusOK + RawHTTP2.field("Upper", "x")), kind: .malformedResponse,
            goAway: 0, reset: 1),
        Answer(
            "a head without a status", head(RawHTTP2.field("name", "x")), kind: .malformedResponse, goAway: 0, reset: 1),
        Answer(
            "a field of the connection", head(RawHTTP2.statusOK + RawHTTP2.field("connection", "x")),
            kind: .malformedResponse, goAway: 0, reset: 1),
        Answer("an index of HPACK that does not exist", head([0xFF, 0xFF, 0x7F]), kind: .http2, goAway: 9),
        Answer(
            "less content than its length",
            head(RawHTTP2.statusOK + RawHTTP2.field("content-length", "5"))
                + frame(RawHTTP2.data, flags: RawHTTP2.endStream, stream: 1, [1]), kind: .truncatedBody, goAway: 0),
        Answer(
            "more content than its length",
            head(RawHTTP2.statusOK + RawHTTP2.field("content-length", "1"))
                + frame(RawHTTP2.data, flags: RawHTTP2.endStream, stream: 1, [1, 2]), kind: .malformedResponse,
            goAway: 0, reset: 1),
        Answer(
            "a push", frame(5, flags: RawHTTP2.endHeaders, stream: 1, RawHTTP2.word(2) + [0x82]), kind: .http2,
            goAway: 1),
        Answer("an increment of zero", frame(RawHTTP2.windowUpdate, RawHTTP2.word(0)), kind: .http2, goAway: 1),
        Answer(
            "a window beyond its limit", frame(RawHTTP2.windowUpdate, RawHTTP2.word(1 << 31 - 1)), kind: .http2,
            goAway: 3),
        Answer("a setting beyond its limit", frame(RawHTTP2.settings, hugeWindow), kind: .http2, goAway: 3),
        Answer("a PING of seven bytes", frame(RawHTTP2.ping, [1, 2, 3, 4, 5, 6, 7]), kind: .http2, goAway: 6),
        Answer("a continuation of nothing", frame(RawHTTP2.continuation, stream: 1, [0x88]), kind: .http2, goAway: 1),
        Answer(
            "a frame that is too large", frame(RawHTTP2.data, stream: 1, [UInt8](repeating: 0, count: 16_385)),
            kind: .http2, goAway: 6),
    ]

    @Test(arguments: answers)
    func theFramesAreTheRecordedOnes(_ answer: Answer) async throws {
        let transcript = HTTP2Transcript()
        let server = try LoopbackServer { connection in
            let http2 = HTTP2Server(connection, transcript: transcript)
            try http2.begin()
            while true {
                switch try http2.nextEvent() {
                case .head: try connection.write(answer.bytes)
                case .left: return
                case .body, .end, .reset, .answered: continue
                }
            }
        }
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        // A POST is not sent again.
        let url = server.url()
        let error = await #expect(throws: TrellisError.self) {
            _ = try await session.data(Request(url, method: .post))
        }
        #expect(error?.kind == answer.kind, "\(error.map { "\($0)" } ?? "")")
        await session.shutdown()
        try await server.waitUntilAllClosed()
        let request = "HEADERS POST :authority / user-agent accept-encoding accept=*/* content-length=0, end"
        let reset = answer.reset.map { ", RST_STREAM \($0)" } ?? ""
        #expect(
            transcript.text == ["1/0: SETTINGS 2=0 4=262144, GOAWAY \(answer.goAway)", "1/1: \(request)\(reset)"])
    }
}
