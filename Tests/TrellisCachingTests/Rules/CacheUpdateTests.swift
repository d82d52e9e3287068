import CurlEngine
import HTTPTypes
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The changes of stored responses by later ones.
struct CacheUpdateTests {
    @Test(
        arguments: [
            (.rfc9111("4.3.1"), ["ETag: \"a\""], ["If-None-Match: \"a\""]),
            (.rfc9111("4.3.1"), ["ETag: W/\"a\""], ["If-None-Match: W/\"a\""]),
            (.rfc9111("4.3.1"), ["ETag: a"], ["If-None-Match: a"]),
            (.rfc9110("5.3"), ["ETag: \"a\"", "ETag: \"b\""], []),
            (.rfc9111("4.3.1"), ["Last-Modified: yesterday"], []), (.rfc9111("4.3.1"), [], []),
            (
                .rfc9111("4.3.1"), ["Last-Modified: \(CacheSamples.date(-1))"],
                ["If-Modified-Since: \(CacheSamples.date(-1))"]
            ),
        ] as [(RFCSection, [String], [String])])
    func theOriginIsAskedWithTheValidators(_ section: RFCSection, _ lines: [String], _ conditions: [String]) {
        #expect(CacheUpdate.conditions(for: CacheSamples.head(lines)) == CacheSamples.fields(conditions))
    }

    /// All with a strong tag, the latest last; the latest with weak validators.
    @Test(
        arguments: [
            (.rfc9111("4.3.4"), ["ETag: \"a\""], [2, 0]), (.rfc9111("4.3.4"), ["ETag: \"b\""], [1]),
            (.rfc9111("4.3.4"), ["ETag: \"c\""], []), (.rfc9111("4.3.4"), ["ETag: W/\"b\""], [1]),
            (.rfc9111("4.3.4"), ["ETag: W/\"a\""], [0]), (.rfc9111("4.3.4"), [], []),
            (.rfc9111("4.3.4"), ["Last-Modified: \(CacheSamples.date(-1))"], [0]),
            (.rfc9111("4.3.4"), ["Last-Modified: \(CacheSamples.date(-2))"], []),
        ] as [(RFCSection, [String], [Int])])
    func a304IsAboutTheResponsesWithItsValidator(_ section: RFCSection, _ lines: [String], _ indices: [Int]) {
        let modified = "Last-Modified: \(CacheSamples.date(-1))"
        let heads = [
            ["ETag: \"a\"", modified, "Date: \(CacheSamples.date(-10))"], ["ETag: \"b\""],
            ["ETag: \"a\"", modified, "Date: \(CacheSamples.date(-20))"],
        ].map { CacheSamples.head($0) }
        #expect(CacheUpdate.indices(of: CacheSamples.fields(lines), in: heads) == indices)
    }

    /// A 304 without validators is about the response that was asked about, or about one that has none either and is alone (RFC 9111,
    /// section 4.3.4).
    @Test func a304WithoutValidatorsIsAboutAResponseWithoutThem() {
        let (bare, tagged) = (CacheSamples.head([]), CacheSamples.head(["ETag: \"a\""]))
        #expect(CacheUpdate.indices(of: [:], in: [bare]) == [0])
        #expect(CacheUpdate.indices(of: [:], in: [bare, bare]) == [])
        #expect(CacheUpdate.indices(of: [:], in: [tagged]) == [])
        #expect(CacheUpdate.indices(of: [:], in: [bare, tagged], asked: 1) == [1])
        #expect(CacheUpdate.indices(of: [.eTag: "\"b\""], in: [tagged], asked: 0) == [])
    }

    /// RFC 9111, section 3.2
    @Test func fieldsAreReplaced() {
        let head = CacheSamples.head([
            "A: 1", "A: 2", "B: 1", "Age: 100", "Content-Length: 5", "Content-Type: text/plain", "ETag: \"a\"",
        ])
        var newer = CacheSamples.head([
            "A: 3", "C: 1", "C: 2", "Content-Length: 0", "Connection: X", "X: 1", "Keep-Alive: timeout=1",
            "ETag: \"a\"",
        ])
        (newer.requestTime, newer.responseTime) = (CacheSamples.time(59), CacheSamples.time(60))
        let updated = CacheUpdate.updated(head, with: newer, CachePolicy())
        #expect(
            Set(updated.headers)
                == Set(
                    CacheSamples.fields([
                        "A: 3", "B: 1", "C: 1", "C: 2", "Content-Length: 5", "Content-Type: text/plain", "ETag: \"a\"",
                    ])))
        #expect(updated.headers[values: .init("C") ?? .age] == ["1", "2"])
        #expect(CacheSamples.facts(updated).age(at: CacheSamples.time(61)) == 2000)
    }

    /// RFC 9110, section 6.6.1: a response without `Date` was made when it was received, here also on the last day of a year and on
    /// 29 February.
    @Test(arguments: [1000, 4_752_000, 41_472_000] as [Int64])
    func anUpdateWithoutADateHasTheTimeOfItsReception(_ seconds: Int64) {
        let head = CacheSamples.head(["Cache-Control: max-age=60", "Date: \(CacheSamples.date(0))"])
        var newer = CacheSamples.head([])
        let time = CacheSamples.time(Double(seconds))
        (newer.requestTime, newer.responseTime) = (time, time)
        let updated = CacheUpdate.updated(head, with: newer, CachePolicy())
        #expect(updated.headers[values: .date] == [CacheSamples.date(seconds)])
        #expect(CacheSamples.facts(updated).age(at: CacheSamples.time(Double(seconds + 2))) == 2000)
        newer.headers[.date] = CacheSamples.date(seconds - 5)
        let dated = CacheUpdate.updated(head, with: newer, CachePolicy())
        #expect(dated.headers[values: .date] == [CacheSamples.date(seconds - 5)])
    }

    @Test(
        arguments: [
            (.rfc9111("4.3.5"), [], true), (.rfc9111("4.3.5"), ["ETag: \"a\""], true),
            (.rfc9111("4.3.5"), ["ETag: \"b\""], false), (.rfc9111("4.3.5"), ["Content-Length: 5"], true),
            (.rfc9111("4.3.5"), ["Content-Length: 6"], false),
            (.rfc9111("4.3.5"), ["Last-Modified: \(CacheSamples.date(-1))"], false),
        ] as [(RFCSection, [String], Bool)])
    func theResponseToAHEADConfirmsTheStoredOne(_ section: RFCSection, _ lines: [String], _ isConfirmed: Bool) {
        let head = CacheSamples.head(["ETag: \"a\"", "Content-Length: 5"])
        #expect(CacheUpdate.isConfirmed(head, by: CacheSamples.head(lines)) == isConfirmed)
        #expect(!CacheUpdate.isConfirmed(head, by: CacheSamples.head(lines, status: 404)))
        let failure = CacheSamples.head(["ETag: \"a\"", "Content-Length: 5"], status: 404)
        #expect(!CacheUpdate.isConfirmed(failure, by: CacheSamples.head(lines)))
    }

    /// RFC 9111, section 4.3.5: the length in the response to a `HEAD` is that of the complete representation.
    @Test(arguments: [("10", true), ("4", false), ("x", false)])
    func theResponseToAHEADHasTheLengthOfTheWholeOfAPart(_ length: String, _ isConfirmed: Bool) {
        let part = CacheSamples.head(
            ["ETag: \"a\"", "Content-Length: 4", "Content-Range: bytes 2-5/10"], status: 206)
        let response = CacheSamples.head(["ETag: \"a\"", "Content-Length: \(length)"])
        #expect(CacheUpdate.isConfirmed(part, by: response) == isConfirmed)
    }

    static let invalidations: [(RFCSection, String, Int, [String], [String])] = [
        (.rfc9111("4.4"), "POST", 200, [], ["http://a.example/x/y"]),
        (.rfc9111("4.4"), "DELETE", 204, [], ["http://a.example/x/y"]),
        (.rfc9111("4.4"), "M-SEARCH", 200, [], ["http://a.example/x/y"]),
        (.rfc9111("4.4"), "PATCH", 303, [], ["http://a.example/x/y"]),
        (.rfc9110("9.2.1"), "GET", 200, [], []), (.rfc9110("9.2.1"), "HEAD", 200, [], []),
        (.rfc9110("9.2.1"), "OPTIONS", 200, [], []), (.rfc9110("9.2.1"), "TRACE", 200, [], []),
        (.rfc9111("4.4"), "POST", 404, [], []), (.rfc9111("4.4"), "PUT", 500, [], []),
        (.rfc9110("9.1"), "get", 200, [], ["http://a.example/x/y"]),
        (.rfc9111("4.4"), "POST", 201, ["Location: z"], ["http://a.example/x/y", "http://a.example/x/z"]),
        (.rfc9111("4.4"), "POST", 201, ["Content-Location: /z?q"], ["http://a.example/x/y", "http://a.example/z?q"]),
        (
            .rfc9111("4.4"), "POST", 201, ["Location: http://A.example:80/z"],
            ["http://a.example/x/y", "http://A.example/z"]
        ),
        (.rfc9111("4.4"), "POST", 201, ["Location: https://a.example/z"], ["http://a.example/x/y"]),
        (.rfc9111("4.4"), "POST", 201, ["Location: http://b.example/z"], ["http://a.example/x/y"]),
        (.rfc9111("4.4"), "POST", 201, ["Location: http://["], ["http://a.example/x/y"]),
    ]

    @Test(arguments: invalidations)
    func unsafeMethodsInvalidate(
        _ section: RFCSection, _ method: String, _ status: Int, _ lines: [String], _ urls: [String]
    ) throws {
        let url = try WireURL(parsing: "http://a.example/x/y")
        let invalidated = CacheUpdate.invalidatedURLs(
            after: try #require(HTTPRequest.Method(method)), to: url, status: status,
            headers: CacheSamples.fields(lines))
        #expect(invalidated.map(\.text) == urls)
    }

    /// A redirect to the same bytes leads to the same key.
    @Test(arguments: [HTTPField.Name.location, .contentLocation])
    func referencesThatAreNotUTF8Invalidate(_ name: HTTPField.Name) throws {
        let url = try WireURL(parsing: "http://a.example/x/y")
        var fields = HTTPFields()
        fields.append(HTTPField(name: name, value: [UInt8]("/caf".utf8) + [0xE9]))
        let invalidated = CacheUpdate.invalidatedURLs(after: .post, to: url, status: 201, headers: fields)
        #expect(invalidated.map(\.text) == ["http://a.example/x/y", "http://a.example/caf%E9"])
    }

    /// RFC 9111, section 3.1
    @Test func fieldsOfTheConnectionAreRemoved() {
        let fields = CacheSamples.fields([
            "Connection: close, X-One", "Connection: x-two", "X-One: 1", "X-Two: 2", "X-Three: 3", "Keep-Alive: 1",
            "Transfer-Encoding: chunked", "Proxy-Authenticate: Basic", "Set-Cookie: a=b",
        ])
        #expect(ConnectionFields.removed(from: fields) == CacheSamples.fields(["X-Three: 3", "Set-Cookie: a=b"]))
    }

    /// A length beside a `Transfer-Encoding` is not that of the body (RFC 9112, section 6.3).
    @Test func aLengthThatDoesNotFrameTheBodyIsRemoved() {
        let fields = CacheSamples.fields(["Content-Length: 3", "Transfer-Encoding: chunked", "X: 1"])
        #expect(ConnectionFields.removed(from: fields) == CacheSamples.fields(["X: 1"]))
        let alone = CacheSamples.fields(["Content-Length: 3", "X: 1"])
        #expect(ConnectionFields.removed(from: alone) == alone)
    }
}
