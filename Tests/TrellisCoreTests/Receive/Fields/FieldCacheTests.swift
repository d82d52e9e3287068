import HTTPTypes
import Testing

@testable import CurlEngine
@testable import TrellisCore

/// The cache of heads: the fields of a head are those of its lines, whatever heads were received before it.
struct FieldCacheTests {
    private static func wire(_ lines: [String]) -> WireFields {
        WireFields(bytes: Array(lines.map { $0 + "\n" }.joined().utf8), count: lines.count)
    }

    private static func text(_ fields: HTTPFields) -> [String] {
        fields.map { "\($0.name.rawName): \($0.value)" }
    }

    private static let common = ["Server: nginx", "Date: Sun, 22 Nov 2026 21:15:20 GMT", "X-A: 1", "X-B: 2", "X-C: 3"]

    /// Heads that differ from ``common`` by a few lines, by many, by the order, by their length, and by bytes alone.
    private static let variants: [[String]] = [
        common,
        ["Server: nginx", "Date: Sun, 22 Nov 2026 21:15:21 GMT", "X-A: 1", "X-B: 2", "X-C: 3"],
        ["Server: nginx", "Date: now", "X-A: 1", "X-B: 2", "X-C: a longer value than before"],
        ["Server: nginx", "Date: Sun, 22 Nov 2026 21:15:20 GMT", "x-a: 1", "X-B: 2", "X-C: 3"],
        ["Server: nginx", "X-A: 1", "Date: Sun, 22 Nov 2026 21:15:20 GMT", "X-B: 2", "X-C: 3"],
        ["Server: nginx", "Date: Sun, 22 Nov 2026 21:15:20 GMT", "X-A: 1", "X-B: 2"],
        ["Server: nginx", "Date: Sun, 22 Nov 2026 21:15:20 GMT", "X-A: 1", "X-B: 2", "X-C: 3", "X-D: 4"],
        ["Server: other", "Date: then", "X-1: 1", "X-2: 2", "X-3: 3"],
        ["Server: nginx", "Date: Sun, 22 Nov 2026 21:15:20 GMT", "X-A: 1", "X-B: 2", "X-C: 3"],
    ]

    @Test(arguments: variants.indices, variants.indices)
    func aHeadBehindAnotherHasItsOwnFields(_ first: Int, _ second: Int) {
        var cache = FieldCache()
        for lines in [Self.variants[first], Self.variants[second], Self.variants[first]] {
            let fields = cache.fields(of: Self.wire(lines))
            #expect(Self.text(fields) == lines)
        }
    }

    /// Swift compares the two spellings of é as equal.
    @Test func aValueWithTheSameCharactersKeepsItsOwnBytes() {
        var cache = FieldCache()
        for value in ["caf\u{e9}", "cafe\u{301}"] {
            let fields = cache.fields(of: Self.wire(["Server: nginx", "X-A: 1", "X-B: 2", "X-Name: \(value)"]))
            #expect(Array(fields[3].value.utf8) == Array(value.utf8))
        }
    }

    @Test func aHeadWithoutSecretsIsKept() {
        var cache = FieldCache()
        let wire = Self.wire(Self.common)
        #expect(cache.knownFields(of: wire) == nil)
        let fields = cache.fields(of: wire)
        #expect(cache.knownFields(of: wire) == fields)
    }

    @Test(
        arguments: [
            "Set-Cookie: a=1", "Location: /?token=1", "X-Session-Token: 1", "Content-Location: /?token=1",
            "Link: </?token=1>; rel=next", "Refresh: 5; url=/?token=1",
        ])
    func aHeadWithASecretIsNotKept(_ secret: String) {
        var cache = FieldCache()
        // The secret is in a new head, and in a head that differs from a cached one by it.
        let heads = [
            Self.common + [secret], Self.common + ["X-D: 1"], Self.common + [secret],
        ].map(Self.wire)
        for head in heads { _ = cache.fields(of: head) }
        #expect(cache.knownFields(of: heads[0]) == nil)
        #expect(cache.knownFields(of: heads[1]) != nil)
    }

    @Test func aLineThatIsNoFieldIsLeftOutOfEveryHead() {
        var cache = FieldCache()
        let lines = ["Server: nginx", "X-A: 1", "X-B: 2", "X-C: 3"]
        _ = cache.fields(of: Self.wire(lines))
        for _ in 1...2 {
            let fields = cache.fields(of: Self.wire(["Server: nginx", ":path: /", "X-B: 2", "X-C: 3"]))
            #expect(Self.text(fields) == ["Server: nginx", "X-B: 2", "X-C: 3"])
        }
    }
}
