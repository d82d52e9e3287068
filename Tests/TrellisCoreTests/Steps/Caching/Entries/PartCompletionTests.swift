import HTTPTypes
import Testing

@testable import TrellisCore

/// The completion of stored parts as values (RFC 9111, section 3.4; RFC 9110, section 15.3.7.3).
struct PartCompletionTests {
    private static let tag = "ETag: \"a\""
    private static let modified = "Last-Modified: \(CacheSamples.date(-100))"
    private static let date = "Date: \(CacheSamples.date(0))"

    private static func part(_ range: String, _ lines: [String] = [tag]) -> StoredHead {
        CacheSamples.head(["Cache-Control: max-age=60", "Content-Range: bytes \(range)"] + lines, status: 206)
    }

    private static func completion(
        _ stored: StoredHead, needed: Range<Int64>
    ) throws -> PartCompletion? {
        let head = CachedHead(stored, request: HTTPFields())
        let part = try #require(head.part)
        let candidate = CacheDecision.Candidate(
            facts: CacheFacts(head, CachePolicy()), length: part.total, part: part.range)
        return PartCompletion(0, candidate, needed: needed)
    }

    // MARK: The request

    /// RFC 9110, section 13.1.5: the missing bytes with the validator of the stored ones.
    @Test func theMissingBytesAreAskedForWithTheValidator() throws {
        let end = try #require(try Self.completion(Self.part("0-4/10"), needed: 2..<10))
        #expect(end.fields == [.range: "bytes=5-", .ifRange: "\"a\""])
        let middle = try #require(try Self.completion(Self.part("0-4/10"), needed: 2..<8))
        #expect(middle.fields == [.range: "bytes=5-7", .ifRange: "\"a\""])
        let dated = try #require(try Self.completion(Self.part("5-9/10", [Self.modified, Self.date]), needed: 0..<10))
        #expect(dated.fields == [.range: "bytes=0-4", .ifRange: CacheSamples.date(-100)])
    }

    /// Without a strong validator, the bytes may be those of two representations.
    @Test(arguments: [[], ["ETag: W/\"a\""], ["ETag: a"], [modified], ["ETag: \"a\"", "ETag: \"b\""]])
    func aPartWithoutAStrongValidatorIsNotCompleted(_ lines: [String]) throws {
        #expect(try Self.completion(Self.part("0-4/10", lines), needed: 0..<10) == nil)
    }

    /// RFC 9111, section 4.1: the request for the missing bytes has another Range than the caller's.
    @Test(arguments: ["Range", "If-Range"]) func aPartThatIsSelectedByItsRangeIsNotCompleted(_ name: String) throws {
        let stored = Self.part("0-4/10", [Self.tag, "Vary: \(name)"])
        #expect(try Self.completion(stored, needed: 0..<10) == nil)
        #expect(try Self.completion(Self.part("0-4/10", [Self.tag, "Vary: X"]), needed: 0..<10) != nil)
    }

    // MARK: The combination

    /// The response to the request for the bytes from 5 to 9, and whether it completes the bytes from 0 to 4.
    static let answers: [(RFCSection, StoredHead, isCombined: Bool)] = [
        (.rfc9111("3.4"), part("5-9/10"), true), (.rfc9110("14.4"), part("5-9/11"), false),
        (.rfc9110("15.3.7"), part("5-8/10"), false), (.rfc9110("15.3.7"), part("4-9/10"), false),
        (.rfc9110("15.3.7"), part("6-9/10"), false), (.rfc9110("15.3.7"), part("0-4/10"), false),
        (.rfc9110("14.4"), part("5-9/*"), false), (.rfc9110("14.4"), part("*/10"), false),
        (.rfc9110("14.4"), part("9-5/10"), false), (.rfc9111("3.4"), part("5-9/10", ["ETag: \"b\""]), false),
        (.rfc9111("3.4"), part("5-9/10", ["ETag: W/\"a\""]), false),
        (.rfc9111("3.4"), part("5-9/10", []), false),
        (.rfc9110("15.3.7.3"), part("5-9/10", [tag, "Content-Encoding: gzip"]), false),
        (.rfc9110("14.4"), part("5-9/10", [tag, "Content-Range: bytes 4-9/10"]), false),
        (.rfc9110("14.4"), CacheSamples.head([tag, "Content-Range: bytes 5-9/10"], status: 200), false),
        (.rfc9110("15.3.7.2"), CacheSamples.head([tag, "Content-Type: multipart/byteranges"], status: 206), false),
    ]

    @Test(arguments: answers)
    func onlyTheBytesThatWereAskedForAreCombined(
        _ section: RFCSection, _ answer: StoredHead, _ isCombined: Bool
    ) throws {
        let stored = Self.part("0-4/10")
        let completion = try #require(try Self.completion(stored, needed: 0..<10))
        #expect((completion.combination(stored, answer) != nil) == isCombined)
    }

    /// RFC 9110, section 15.3.7: a part need not repeat the time that If-Range has had.
    @Test func aPartMayLackTheTimeThatItWasAskedForWith() throws {
        let stored = Self.part("0-4/10", [Self.modified, Self.date])
        let later = "Last-Modified: \(CacheSamples.date(-50))"
        let rows: [([String], ofRequest: Bool, alone: Bool)] = [
            ([], true, false), ([Self.modified, Self.date], true, true), ([later, Self.date], false, false),
            ([Self.modified], true, false), ([Self.tag], false, false),
        ]
        for (lines, ofRequest, alone) in rows {
            let received = Self.part("5-9/10", lines)
            #expect((PartCombination(stored, received, isConditional: true) != nil) == ofRequest, "\(lines)")
            #expect((PartCombination(stored, received, isConditional: false) != nil) == alone, "\(lines)")
        }
    }

    @Test func partsThatOverlapOrTouchAreJoined() throws {
        func joined(_ stored: String, _ received: String) -> PartCombination? {
            PartCombination(Self.part(stored), Self.part(received), isConditional: false)
        }
        let touching = try #require(joined("0-4/20", "5-9/20"))
        #expect(touching.range == 0..<10 && touching.before == 0..<5 && touching.after.isEmpty)
        let inside = try #require(joined("0-9/20", "4-5/20"))
        #expect(inside.range == 0..<10 && inside.before == 0..<4 && inside.after == 6..<10)
        let around = try #require(joined("4-5/20", "0-9/20"))
        #expect(around.range == 0..<10 && around.before.isEmpty && around.after.isEmpty && !around.isWorthCopying)
        #expect(joined("0-4/20", "6-9/20") == nil && joined("6-9/20", "0-4/20") == nil)
        // A long part is not copied for each short one that follows.
        let sizes = ["0-79/200": true, "0-89/200": false]
        for (stored, isWorth) in sizes {
            let end = isWorth ? 80 : 90
            let long = try #require(joined(stored, "\(end)-\(end + 9)/200"))
            #expect(long.isWorthCopying == isWorth)
        }
    }

    // MARK: The head

    @Test func aCompleteCombinationIsA200() throws {
        let stored = Self.part("0-4/10", [Self.tag, "Content-Type: text/a", "Content-MD5: x", "A: old"])
        let received = Self.part("5-9/10", [Self.tag, "Content-Type: text/b", "A: new", "Content-Length: 5"])
        let whole = try #require(PartCombination(stored, received, isConditional: true))
        let head = whole.head(stored, received, CachePolicy())
        #expect(head.status == 200 && head.headers[.contentRange] == nil && head.headers[.contentLength] == "10")
        let name = try #require(HTTPField.Name("A"))
        let digest = try #require(HTTPField.Name("Content-MD5"))
        #expect(head.headers[.contentType] == "text/a" && head.headers[name] == "new")
        #expect(!head.headers.contains(digest))
        let more = Self.part("5-7/10")
        let combination = try #require(PartCombination(stored, more, isConditional: true))
        let part = combination.head(stored, more, CachePolicy())
        #expect(part.status == 206 && part.headers[.contentRange] == "bytes 0-7/10")
        #expect(part.headers[.contentLength] == "8" && part.part?.range == 0..<8)
    }
}
