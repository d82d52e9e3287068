import FoundationEssentials
import Testing

@testable import TrellisCore

/// The `Cookie` field that is sent, and the values that descriptions never show.
struct CookieFieldTests {
    private static func cookies(_ pairs: [(String, String)]) throws -> [Cookie] {
        try pairs.map { try #require(Cookie(name: $0.0, value: $0.1, domain: "a.test")) }
    }

    static let rows: [([(String, String)], String?, String?)] = [
        ([], nil, nil), ([("a", "1")], nil, "a=1"), ([("a", "1"), ("b", "")], nil, "a=1; b="),
        ([("", "1"), ("b", "2")], nil, "1; b=2"), ([], "own=1", "own=1"), ([("a", "1")], "", "a=1"),
        ([("a", "1"), ("b", "2")], "own=1", "own=1; a=1; b=2"), ([("a", "1"), ("b", "2")], "b=own", "b=own; a=1"),
        ([("a", "1"), ("b", "2")], " x=y ;b = own; a", " x=y ;b = own; a"), ([("", "1")], "a=2", "a=2; 1"),
        ([("A", "1")], "a=2", "a=2; A=1"),
    ]

    @Test(arguments: rows.indices)
    func oneFieldAndTheCallersOwnFirst(_ row: Int) throws {
        let (pairs, own, expected) = Self.rows[row]
        #expect(Cookie.field(try Self.cookies(pairs), after: own) == expected)
    }

    @Test(arguments: ["sid", ""])
    func descriptionsHoldNoValue(_ name: String) async throws {
        let cookie = try #require(
            Cookie(
                name: name, value: "hunter2", domain: "a.test", isSecure: true, expires: Date(timeIntervalSince1970: 0))
        )
        let jar = CookieJar()
        await jar.insert([cookie])
        var dumped = ""
        dump([cookie], to: &dumped)
        for text in [
            "\(cookie)", "\([cookie])", String(reflecting: cookie), "\(Optional(cookie) as Any)", dumped, "\(jar)",
        ] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
        #expect("\(cookie)".contains("REDACTED; Host=a.test; Path=/; Expires=1970-01-01"))
    }
}
