import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisDownloads

/// The decision of a download about the head of a response.
struct DownloadRangeRequestTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var status = 206
        let fields: HTTPFields
        let decision: DownloadRangeRequest.Decision
        var testDescription: String { name }

        init(_ name: String, status: Int = 206, _ fields: HTTPFields, _ decision: DownloadRangeRequest.Decision) {
            (self.name, self.status, self.fields, self.decision) = (name, status, fields, decision)
        }
    }

    private static let tagged = Representation(validator: .entityTag("\"a\""), total: 100)
    private static let dated = Representation(
        validator: .lastModified("Sun, 06 Nov 1994 08:49:37 GMT"), total: nil)

    @Test(arguments: [
        Case("the rest", [.eTag: "\"a\"", .contentRange: "bytes 40-99/100"], .part(40..<100, total: 100)),
        Case("less than the rest", [.eTag: "\"a\"", .contentRange: "bytes 40-49/100"], .part(40..<50, total: 100)),
        Case("of an unknown total", [.eTag: "\"a\"", .contentRange: "bytes 40-99/*"], .part(40..<100, total: 100)),
        Case(
            "with its length", [.eTag: "\"a\"", .contentRange: "bytes 40-99/100", .contentLength: "60"],
            .part(40..<100, total: 100)),
        Case(
            "with another length", [.eTag: "\"a\"", .contentRange: "bytes 40-99/100", .contentLength: "61"],
            .askForWhole("a Content-Length that is not that of the range")),
        Case(
            "another tag", [.eTag: "\"b\"", .contentRange: "bytes 40-99/100"], .askForWhole("another representation")),
        Case(
            "a weak tag", [.eTag: "W/\"a\"", .contentRange: "bytes 40-99/100"], .askForWhole("another representation")),
        Case("no tag", [.contentRange: "bytes 40-99/100"], .askForWhole("another representation")),
        Case("an overlap", [.eTag: "\"a\"", .contentRange: "bytes 39-99/100"], .askForWhole("another range")),
        Case("a gap", [.eTag: "\"a\"", .contentRange: "bytes 41-99/100"], .askForWhole("another range")),
        Case("from the beginning", [.eTag: "\"a\"", .contentRange: "bytes 0-99/100"], .askForWhole("another range")),
        Case("another total", [.eTag: "\"a\"", .contentRange: "bytes 40-99/101"], .askForWhole("another length")),
        Case("beyond the end", [.eTag: "\"a\"", .contentRange: "bytes 40-100/*"], .askForWhole("another length")),
        Case("no range", [.eTag: "\"a\""], .askForWhole("no usable Content-Range")),
        Case(
            "a malformed range", [.eTag: "\"a\"", .contentRange: "40-99/100"], .askForWhole("no usable Content-Range")),
        Case(
            "an unsatisfied range", [.eTag: "\"a\"", .contentRange: "bytes */100"],
            .askForWhole("no usable Content-Range")),
        Case(
            "several parts", [.eTag: "\"a\"", .contentType: "Multipart/ByteRanges; boundary=x"],
            .askForWhole("several parts")),
        Case(
            "coded", [.eTag: "\"a\"", .contentRange: "bytes 40-99/100", .contentEncoding: "gzip"],
            .askForWhole("a part of a coded body")),
        Case(
            "coded as it is", [.eTag: "\"a\"", .contentRange: "bytes 40-99/100", .contentEncoding: "identity"],
            .part(40..<100, total: 100)),
        Case(
            "all of it", status: 200, [.eTag: "\"b\"", .contentLength: "70"],
            .whole(Representation(validator: .entityTag("\"b\""), total: 70))),
        Case(
            "the rest, as if it were all of it", status: 200,
            [.eTag: "\"a\"", .contentRange: "bytes 40-99/100", .contentLength: "60"], .part(40..<100, total: 100)),
        Case(
            "the rest, as if it were all of it, without a length", status: 200,
            [.eTag: "\"a\"", .contentRange: "bytes 40-99/100"], .askForWhole("another status than 206")),
        Case(
            "the rest of another one, as if it were all of it", status: 200,
            [.eTag: "\"b\"", .contentRange: "bytes 40-99/100", .contentLength: "60"],
            .askForWhole("another representation")),
        Case(
            "all of it, as if it were the rest", status: 200,
            [.eTag: "\"a\"", .contentRange: "bytes 40-99/100", .contentLength: "100"],
            .askForWhole("a Content-Length that is not that of the range")),
        Case(
            "all of it, with its range", status: 200,
            [.eTag: "\"a\"", .contentRange: "bytes 0-99/100", .contentLength: "100"],
            .whole(Representation(validator: .entityTag("\"a\""), total: 100))),
        Case("416, elsewhere", status: 416, [.contentRange: "bytes */100"], .askForWhole("no such range")),
        Case("416, without a word", status: 416, [:], .askForWhole("no such range")),
        Case(
            "416, the total is another", status: 416, [.eTag: "\"a\"", .contentRange: "bytes */40"],
            .askForWhole("no such range")),
        Case("not well", status: 503, [:], .busy), Case("slow down", status: 429, [:], .busy),
        Case("gone", status: 410, [:], .refused), Case("moved", status: 301, [:], .refused),
    ])
    func ofATaggedPart(_ row: Case) {
        let rangeRequest = DownloadRangeRequest.part(from: 40, to: nil, of: Self.tagged)
        #expect(rangeRequest.decision(status: row.status, fields: row.fields) == row.decision)
    }

    @Test(arguments: [
        Case(
            "the same date", [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .contentRange: "bytes 40-59/*"],
            .part(40..<60, total: nil)),
        Case("no date", [.contentRange: "bytes 40-59/60"], .part(40..<60, total: 60)),
        Case(
            "another date", [.lastModified: "Sun, 06 Nov 1994 08:49:38 GMT", .contentRange: "bytes 40-59/60"],
            .askForWhole("another representation")),
        Case("416, that was all", status: 416, [.contentRange: "bytes */40"], .complete),
    ])
    func ofADatedPart(_ row: Case) {
        let rangeRequest = DownloadRangeRequest.part(from: 40, to: nil, of: Self.dated)
        #expect(rangeRequest.decision(status: row.status, fields: row.fields) == row.decision)
    }

    @Test(arguments: [
        Case("without its tag", status: 416, [.contentRange: "bytes */100"], .complete),
        Case("with its tag", status: 416, [.eTag: "\"a\"", .contentRange: "bytes */100"], .complete),
        Case(
            "with another tag", status: 416, [.eTag: "\"b\"", .contentRange: "bytes */100"],
            .askForWhole("no such range")),
        Case("of another length", status: 416, [.contentRange: "bytes */101"], .askForWhole("no such range")),
    ])
    func ofNothingBehindAllThereIs(_ row: Case) {
        let rangeRequest = DownloadRangeRequest.part(from: 100, to: nil, of: Self.tagged)
        #expect(rangeRequest.decision(status: row.status, fields: row.fields) == row.decision)
    }

    /// A validator does not identify another resource, to which a redirect may lead; signed URLs have a new query each
    /// time.
    @Test(arguments: [
        ("http://a.example/v1/f?signature=2", nil), ("http://a.example/v2/f?signature=1", "another resource"),
        ("http://b.example/v1/f?signature=1", "another resource"), ("https://a.example/v1/f", "another resource"),
    ])
    func aPartIsOfTheSameResource(_ url: String, _ reason: String?) {
        let whole: HTTPFields = [.eTag: "\"a\"", .contentLength: "100"]
        let first = DownloadRangeRequest.whole.decision(
            status: 200, fields: whole, of: "http://ann:secret@a.example/v1/f?signature=1#x")
        guard case .whole(let representation) = first else { return #expect(Bool(false), "\(first)") }
        #expect(representation.resource == "http://a.example/v1/f")
        let rangeRequest = DownloadRangeRequest.part(from: 40, to: nil, of: representation)
        let part: HTTPFields = [.eTag: "\"a\"", .contentRange: "bytes 40-99/100"]
        #expect(
            rangeRequest.decision(status: 206, fields: part, of: url)
                == reason.map { .askForWhole($0) } ?? .part(40..<100, total: 100))
        let complete = DownloadRangeRequest.part(from: 100, to: nil, of: representation)
        #expect(
            complete.decision(status: 416, fields: [.contentRange: "bytes */100"], of: url)
                == reason.map { .askForWhole($0) } ?? .complete)
    }

    @Test func aBoundedPartMayNotBeLonger() {
        let rangeRequest = DownloadRangeRequest.part(from: 40, to: 50, of: Self.tagged)
        #expect(rangeRequest.fields.map(\.value) == ["bytes=40-49", "\"a\""])
        let fields: (String) -> HTTPFields = { [.eTag: "\"a\"", .contentRange: $0] }
        #expect(rangeRequest.decision(status: 206, fields: fields("bytes 40-49/100")) == .part(40..<50, total: 100))
        #expect(rangeRequest.decision(status: 206, fields: fields("bytes 40-50/100")) == .askForWhole("another range"))
    }

    @Test(arguments: [
        Case("a length", status: 200, [.contentLength: "10"], .whole(Representation(validator: nil, total: 10))),
        Case("a lie", status: 200, [.contentLength: "-10"], .whole(Representation(validator: nil, total: nil))),
        Case(
            "a tag", status: 200, [.eTag: "\"a\""], .whole(Representation(validator: .entityTag("\"a\""), total: nil))),
        Case("a weak tag", status: 200, [.eTag: "W/\"a\""], .whole(Representation(validator: nil, total: nil))),
        Case("a bare tag", status: 200, [.eTag: "a"], .whole(Representation(validator: nil, total: nil))),
        Case(
            "a tag with a quote", status: 200, [.eTag: "\"a\"b\""], .whole(Representation(validator: nil, total: nil))),
        Case(
            "no ranges", status: 200, [.eTag: "\"a\"", .acceptRanges: "none"],
            .whole(Representation(validator: nil, total: nil))),
        Case(
            "coded", status: 200, [.eTag: "\"a\"", .contentEncoding: "gzip", .contentLength: "10"],
            .whole(Representation(validator: nil, total: nil))),
        Case(
            "an old date", status: 200,
            [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:49:38 GMT"],
            .whole(Representation(validator: .lastModified("Sun, 06 Nov 1994 08:49:37 GMT"), total: nil))),
        Case(
            "a date of this second", status: 200,
            [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:49:37 GMT"],
            .whole(Representation(validator: nil, total: nil))),
        Case(
            "a date without a clock", status: 200, [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
            .whole(Representation(validator: nil, total: nil))),
        Case(
            "a weak tag with a date", status: 200,
            [
                .eTag: "W/\"a\"", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
                .date: "Mon, 07 Nov 1994 08:49:37 GMT",
            ], .whole(Representation(validator: nil, total: nil))),
        Case("a part", [.contentRange: "bytes 0-9/10"], .malformed("it is a part that nobody asked for")),
        Case(
            "a part, as if it were all of it", status: 200, [.contentRange: "bytes 0-9/20", .contentLength: "10"],
            .malformed("it is a part that nobody asked for")),
        Case("not found", status: 404, [:], .refused), Case("416", status: 416, [:], .refused),
        Case("not well", status: 500, [:], .busy),
    ])
    func ofTheWhole(_ row: Case) {
        #expect(DownloadRangeRequest.whole.decision(status: row.status, fields: row.fields) == row.decision)
        #expect(DownloadRangeRequest.whole.fields == [])
    }

    /// A download also repeats a request after 425 (Too Early).
    @Test(arguments: 200..<600)
    func aTransientStatusIsBusy(_ code: Int) {
        let isBusy = DownloadRangeRequest.whole.decision(status: code, fields: [:]) == .busy
        #expect(isBusy == (HTTPResponse.Status(code: code).isTransient || code == 425))
    }
}
