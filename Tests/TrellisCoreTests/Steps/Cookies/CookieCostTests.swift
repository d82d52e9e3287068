import FoundationEssentials
import TestSupport
import Testing

@testable import TrellisCore

/// The cost of responses that set many cookies.
struct CookieCostTests {
    /// The number of cookies with `Secure` by name and domain, which the store keeps to itself.
    private static func secureNames(of store: CookieStore) throws -> [String: [String: Int]] {
        try #require(Mirror(reflecting: store).descendant("secureNames") as? [String: [String: Int]])
    }

    /// A field is compared with the secure cookies of its name, and not with those of all domains.
    @Test func aFieldWithTheNameOfASecureCookieIsComparedWithThatCookieAlone() throws {
        var store = CookieStore(suffixes: .test)
        let now = WallClock().now
        let names = (0..<300).map { "secure-\($0)" }
        for name in names {
            let url = try CookieStore.url("https://\(name).example.org/")
            _ = store.receive(["\(name)=1; Secure"], from: url, at: now)
        }
        let expected = Dictionary(uniqueKeysWithValues: names.map { ($0, ["\($0).example.org": 1]) })
        #expect(try Self.secureNames(of: store) == expected)
        // Cookies without `Secure` are not compared with each other at all.
        let other = try CookieStore.url("http://other.example.org/")
        let taken = store.receive(names.map { "\($0)=2" }, from: other, at: now)
        #expect(taken.map(\.name) == names)
        #expect(try Self.secureNames(of: store) == expected)
        // The comparison is made: the same field from the cookie's own site is refused.
        let own = try CookieStore.url("http://secure-7.example.org/")
        #expect(store.receive(["secure-7=2", "secure-8=2"], from: own, at: now).map(\.name) == ["secure-8"])
    }

    @Test func theNameOfARemovedSecureCookieIsForgotten() throws {
        var store = CookieStore(suffixes: .test)
        let now = WallClock().now
        let url = try CookieStore.url("https://example.org/")
        _ = store.receive(["a=1; Secure", "b=1; Secure; Max-Age=5"], from: url, at: now)
        _ = store.receive(["a=2"], from: url, at: now)
        #expect(try Self.secureNames(of: store) == ["b": ["example.org": 1]])
        _ = store.cookies(for: url, at: now + 5)
        #expect(try Self.secureNames(of: store) == [:])
    }
}
