import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The cookies that a store keeps, the order in which they are sent, and the cookies that are evicted when there is no room
/// (sections 5.7 and 5.8.3).
struct CookieStoreTests {
    private let clock = WallClock()

    private func jar(_ limits: CookieLimits = CookieLimits()) -> CookieJar {
        CookieJar(limits: limits, suffixes: .test) { [clock] in clock.now }
    }

    @Test func longerPathsComeFirstThenOlderCookies() async {
        let jar = jar()
        let url = "http://home.example.org/cookie/foo/baz"
        await jar.store(
            [
                "k=0; Path=/", "k=1; Path=/cookie", "k=2; Path=/; Domain=example.org", "k=3; Path=/bar",
                "k=4; Path=/cookie/foo; Domain=example.org", "k=5; Path=/cookie; Domain=example.org",
            ], from: url)
        #expect(await jar.field(for: url) == "k=4; k=1; k=5; k=0; k=2")
        clock.move(by: 1)
        // A new value keeps the creation time of a cookie.
        await jar.store(["k=6; Path=/", "n=7; Path=/"], from: url)
        #expect(await jar.field(for: url) == "k=4; k=1; k=5; k=6; k=2; n=7")
        #expect(await jar.all.map(\.value) == ["6", "1", "2", "3", "4", "5", "7"])
        #expect(await jar.all.first?.created == clock.now - 1)
        #expect(await jar.all.first?.lastAccessed == clock.now)
    }

    @Test func aHostsOwnCookieAndItsDomainsAreTwo() async {
        let jar = jar()
        await jar.store(["a=1", "a=2; Domain=example.org"], from: "http://example.org/")
        #expect(await jar.field(for: "http://example.org/") == "a=1; a=2")
        await jar.store(["a=; Max-Age=0"], from: "http://example.org/")
        #expect(await jar.field(for: "http://example.org/") == "a=2")
    }

    // MARK: Expiry

    static let ends: [(String, Double?)] = [
        ("a=b", nil), ("a=b; Max-Age=10", 10), ("a=b; Max-Age=10; Expires=Fri, 01 Jan 2038 00:00:00 GMT", 10),
        ("a=b; Expires=Fri, 01 Jan 2038 00:00:00 GMT; Max-Age=10", 10), ("a=b; Max-Age=x; Expires=nonsense", nil),
        ("a=b; Expires=Tue, 14 Nov 2023 22:13:30 GMT", 10), ("a=b; Max-Age=34560001", 34_560_000),
        ("a=b; Max-Age=99999999999999999999", 34_560_000), ("a=b; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_560_000),
        ("a=b; Expires=Tue, 14 Nov 2023 22:13:30 GMT; Expires=nonsense", 10),
    ]

    @Test(arguments: ends)
    func cookiesEnd(_ field: String, _ seconds: Double?) async {
        let jar = jar()
        await jar.store([field], from: "http://example.org/")
        #expect(await jar.all.first?.expires == seconds.map { clock.now + $0 })
        #expect(await jar.all.first?.isPersistent == (seconds != nil))
        clock.move(by: (seconds ?? 1e9) - 1)
        #expect(await jar.field(for: "http://example.org/") == "a=b")
        clock.move(by: 1)
        #expect(await jar.field(for: "http://example.org/") == (seconds == nil ? "a=b" : nil))
        #expect(await jar.all.count == (seconds == nil ? 1 : 0))
    }

    @Test(arguments: [
        "Max-Age=0", "Max-Age=-1", "Expires=Thu, 10 Apr 1980 16:33:12 GMT", "Expires=1 Jan 1601 00:00:00",
    ])
    func anEndInThePastRemoves(_ attribute: String) async {
        let jar = jar()
        await jar.store(
            ["a=b; Max-Age=60", "c=d; Max-Age=60", "a=x; \(attribute)", "e=f; \(attribute)"],
            from: "http://example.org/")
        #expect(await jar.field(for: "http://example.org/") == "c=d")
    }

    @Test func cookiesThatEndAtDifferentTimesAllGo() async {
        let jar = jar()
        await jar.store((1...20).map { "n\($0)=v; Max-Age=\($0)" }, from: "http://example.org/")
        for left in (0..<20).reversed() {
            clock.move(by: 1)
            #expect(await jar.all.count == left)
        }
    }

    @Test func sessionsEnd() async {
        let jar = jar()
        await jar.store(["a=b; Max-Age=60", "c=d"], from: "http://example.org/")
        await jar.removeSessionCookies()
        #expect(await jar.field(for: "http://example.org/") == "a=b")
        await jar.removeAll()
        #expect(await jar.all.isEmpty)
    }

    @Test func oneCookieIsRemoved() async throws {
        let jar = jar()
        await jar.store(["a=b", "c=d"], from: "http://example.org/")
        await jar.remove(try #require(Cookie(name: "a", value: "other", domain: "example.org")))
        await jar.remove(try #require(Cookie(name: "c", value: "d", domain: "example.org", isHostOnly: false)))
        #expect(await jar.field(for: "http://example.org/") == "c=d")
    }

    // MARK: Secure cookies are left alone (step 16)

    /// The cookies after a secure cookie `a` was set and then another cookie from elsewhere.
    static let overlays: [(String, String, String, [String])] = [
        ("a=x", "https://example.org/", "http://example.org/", ["secret"]),
        ("a=x; Domain=example.org", "https://www.example.org/", "http://other.example.org/", ["secret"]),
        // The draft does not ask whether one of the two cookies is host-only.
        ("a=x", "https://example.org/", "http://www.example.org/", ["secret"]),
        ("a=x", "https://example.org/", "http://other.org/", ["secret", "x"]),
        ("b=x", "https://example.org/", "http://example.org/", ["secret", "x"]),
        ("a=x", "https://example.org/", "https://example.org/", ["x"]),
        ("a=x; Path=/login/en", "https://example.org/login/", "http://example.org/", ["secret"]),
        ("a=x; Path=/login", "https://example.org/login/", "http://example.org/", ["secret"]),
        ("a=x; Path=/", "https://example.org/login/", "http://example.org/", ["secret", "x"]),
        ("a=x; Path=/loginx", "https://example.org/login/", "http://example.org/", ["secret", "x"]),
    ]

    @Test(arguments: overlays)
    func insecureOriginsDoNotOverlaySecureCookies(
        _ field: String, _ secure: String, _ insecure: String, _ left: [String]
    ) async throws {
        let jar = jar()
        await jar.store(["a=secret; Secure"], from: secure)
        await jar.store([field], from: insecure)
        #expect(await jar.all.map(\.value) == left)
    }

    @Test func aSecureCookieOfASubdomainCountsToo() async {
        let jar = jar()
        await jar.store(["a=secret; Secure"], from: "https://www.example.org/")
        await jar.store(["a=x; Domain=example.org"], from: "http://other.example.org/")
        #expect(await jar.all.map(\.value) == ["secret"])
        // After its removal the cookie protects its name no longer.
        await jar.store(["a=; Secure; Max-Age=0"], from: "https://www.example.org/")
        await jar.store(["a=x; Domain=example.org"], from: "http://other.example.org/")
        #expect(await jar.all.map(\.value) == ["x"])
    }

    // MARK: Limits

    @Test func manyAtOnceLeaveTheNewestOfADomain() async {
        let jar = jar(), count = Scale.count(500, all: 5_000)
        await jar.store((0..<count).map { "n\($0)=v" }, from: "http://example.org/")
        #expect(await jar.all.map(\.name) == (count - 180..<count).map { "n\($0)" })
    }

    @Test(arguments: [CookieLimits(perDomain: -1), CookieLimits(total: -1), CookieLimits(total: .min)])
    func aLimitBelowZeroIsZero(limits: CookieLimits) async {
        let jar = jar(limits)
        await jar.store(["a=1", "b=1"], from: "http://example.org/")
        #expect(await jar.all.isEmpty)
    }

    @Test func ofADomainTheInsecureOnesGoFirst() async {
        let jar = jar(CookieLimits(perDomain: 3))
        await jar.store(["s=1; Secure", "i=1"], from: "https://example.org/")
        clock.move(by: 1)
        await jar.store(["t=1; Secure", "u=1; Secure"], from: "https://example.org/")
        #expect(await jar.all.map(\.name) == ["s", "t", "u"])
        clock.move(by: 1)
        // A cookie that was sent counts as used.
        await jar.store(["s=1; Secure; Path=/x"], from: "https://example.org/")
        #expect(await jar.all.map(\.path) == ["/", "/", "/x"])
        #expect(await jar.all.map(\.name) == ["t", "u", "s"])
    }

    @Test func theOneNotUsedForLongestGoes() async {
        let jar = jar(CookieLimits(perDomain: 2))
        await jar.store(["a=1; Path=/a", "b=1; Path=/b"], from: "http://example.org/")
        clock.move(by: 1)
        _ = await jar.cookies(for: "http://example.org/a")
        await jar.store(["c=1"], from: "http://example.org/")
        #expect(await jar.all.map(\.name) == ["a", "c"])
    }

    @Test func domainsAboveTheirShareGoFirst() async {
        let jar = jar(CookieLimits(total: 60))
        await jar.store(["old=1"], from: "http://old.example.org/")
        clock.move(by: 1)
        await jar.store(["s=1; Secure"] + (0..<54).map { "n\($0)=1" }, from: "https://big.example.org/")
        clock.move(by: 1)
        for host in 0..<4 { await jar.store(["new=1"], from: "http://h\(host).example.org/") }
        #expect(await jar.all.count == 60)
        // Five more than the share, the first of which are older than all others but the cookie that stays.
        await jar.store((0..<6).map { "late\($0)=1" }, from: "http://late.example.org/")
        let names = await jar.all.map(\.name)
        #expect(names.count == 60)
        #expect(names.contains("s"))
        // Five cookies of the big domain are evicted, then the oldest of all.
        #expect(!names.contains("n4") && names.contains("n5") && !names.contains("old"))
    }

    /// A full store evicts the cookies that a plain model evicts, which is computed each time, after any sequence of uses
    /// and changes.
    @Test func aFullJarLosesTheOneNotUsedForLongest() throws {
        var store = CookieStore(limits: CookieLimits(total: 40), suffixes: .test)
        var model: [(domain: String, used: Date)] = []
        var random = SeededGenerator(seed: 7)
        for _ in 0..<Scale.count(600, all: 3_000) {
            clock.move(by: 1)
            let domain = "h\(random.next() % 100).example.org"
            let known = model.firstIndex { $0.domain == domain }
            if random.next() % 3 == 0 {
                _ = store.cookies(for: try CookieStore.url("http://\(domain)/"), at: clock.now)
                if let known { model.append((model.remove(at: known).domain, clock.now)) }
            } else {
                _ = store.receive(["a=1"], from: try CookieStore.url("http://\(domain)/"), at: clock.now)
                if let known { model.remove(at: known) }
                model.append((domain, clock.now))
                if model.count > 40 { model.removeFirst() }
            }
            try #require(Set(store.all.map(\.domain)) == Set(model.map(\.domain)))
        }
    }

    /// A new cookie in a full store replaces a candidate from a list: the store searches all its cookies only once for an eighth
    /// of its size.
    @Test func aFullJarIsNotSortedForEachCookie() throws {
        var store = CookieStore(limits: CookieLimits(total: 80), suffixes: .test)
        var left: [Int] = []
        for host in 0..<93 {
            _ = store.receive(["a=1"], from: try CookieStore.url("http://h\(host).example.org/"), at: clock.now)
            if host >= 80 { left.append(store.oldest.count) }
        }
        #expect(left == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8, 7])
    }

    @Test func eachCookieExpiresAtItsTimeWhicheverCameFirst() async {
        let jar = jar()
        let lives = [30, 10, 50, 20, 40, 0].shuffled()
        await jar.store(
            lives.map { $0 == 0 ? "n0=session" : "n\($0)=v; Max-Age=\($0)" }, from: "http://example.org/")
        // A cookie that is stored again expires at the time of its last field.
        await jar.store(["n20=v; Max-Age=60", "n50=v"], from: "http://example.org/")
        var names: [Set<String>] = []
        for _ in 0..<7 {
            names.append(Set(await jar.all.map(\.name)))
            clock.move(by: 10)
        }
        #expect(names.map(\.count) == [6, 5, 5, 4, 3, 3, 2])
        #expect(names.last == ["n0", "n50"])
    }

    @Test func aFieldHasALimit() throws {
        let value = String(repeating: "v", count: 100)
        let fields = (0..<10).map { "\($0)=\(value)" }
        let sent = try #require(try CookieStore.sent(after: fields, limits: CookieLimits(fieldSize: 350)))
        #expect(sent.utf8.count <= 350 && sent.hasPrefix("0=") && sent.hasSuffix("; 2=\(value)"))
    }

    // MARK: Cookies of the caller

    @Test func ownCookiesAreSentWhereTheySay() async throws {
        let jar = jar()
        await jar.insert([
            try #require(Cookie(name: "a", value: "1", domain: ".Example.ORG", isHostOnly: false)),
            try #require(Cookie(name: "b", value: "2", domain: "example.org", path: "/x", isSecure: true)),
            try #require(Cookie(name: "c", value: "3", domain: "example.org", expires: clock.now)),
        ])
        #expect(await jar.field(for: "http://www.example.org/x") == "a=1")
        #expect(await jar.field(for: "https://example.org/x") == "b=2; a=1")
    }

    @Test(arguments: [
        ("a;b", "v", "d", "/"), ("a=b", "v", "d", "/"), ("a\r\n", "v", "d", "/"), ("a", "v;w", "d", "/"),
        ("a", "v\n", "d", "/"), ("", "", "d", "/"), ("a", "v", "", "/"), ("a", "v", "d e", "/"), ("a", "v", "dé", "/"),
        ("a", "v", "d:1", "/"), ("a", "v", "[d", "/"), ("a", "v", "[]", "/"), ("a", "v", "..d", "/"),
        ("a", "v", "d..e", "/"), ("a", "v", "d.", "/"),
        ("a", "v", "d", "x"), ("a", "v", "d", ""), ("a", "v", "d", "/;"),
        ("a", String(repeating: "v", count: 4096), "d", "/"),
        ("__Secure-a", "v", "d", "/"), ("__host-a", "v", "d", "/"), ("", "__Secure-a=b", "d", "/"),
    ])
    func whatCannotBeSentIsNoCookie(_ name: String, _ value: String, _ domain: String, _ path: String) {
        #expect(Cookie(name: name, value: value, domain: domain, path: path) == nil)
    }
}
