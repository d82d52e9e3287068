import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// Requests to one URL again and again, and responses that set the same cookie again and again.
struct RepeatedCookiesTests {
    private static let url = "http://home.example.org/a/b"
    private let clock = WallClock()
    private let jar: CookieJar

    init() { jar = CookieJar(suffixes: .test, now: { [clock] in clock.now }) }

    private func receive(_ fields: String..., from url: String = url) {
        var headers = HTTPFields()
        for field in fields { headers.append(HTTPField(name: .setCookie, value: field)) }
        jar.keepCookies(of: Response(head: ResponseHead(status: .ok, headers: headers), url: url), to: Request(url))
    }

    private func sent(_ url: String = url, own: String? = nil) -> String? {
        var request = Request(url)
        request.headers[.cookie] = own
        return jar.addingCookies(to: request).headers[.cookie]
    }

    @Test func anEqualFieldProlongsTheCookieAndKeepsItsCreation() async {
        receive("a=1; Max-Age=10; Path=/")
        let created = clock.now
        for _ in 0..<3 {
            clock.move(by: 8)
            receive("a=1; Max-Age=10; Path=/")
        }
        clock.move(by: 9)
        #expect(sent() == "a=1")
        #expect(await jar.all.map(\.created) == [created])
        #expect(await jar.all.map(\.lastAccessed) == [clock.now])
        clock.move(by: 1)
        #expect(sent() == nil)
        #expect(await jar.all.isEmpty)
    }

    @Test func aShorterLifetimeCounts() {
        receive("a=1; Max-Age=100")
        receive("a=1; Max-Age=10")
        receive("a=1; Max-Age=10")
        clock.move(by: 10)
        #expect(sent() == nil)
    }

    @Test func aCookieThatHasNoEndAnyMoreStays() {
        receive("a=1; Max-Age=10")
        receive("a=1")
        clock.move(by: 1_000)
        #expect(sent() == "a=1")
    }

    @Test func everyChangeIsSent() async throws {
        receive("a=1", "b=1")
        #expect(sent() == "a=1; b=1")
        receive("a=2", "b=1")
        #expect(sent() == "a=2; b=1")
        receive("a=2", "b=1")
        #expect(sent() == "a=2; b=1")
        receive("b=; Max-Age=0")
        receive("b=; Max-Age=0")
        #expect(sent() == "a=2")
        await jar.insert([try #require(Cookie(name: "c", value: "3", domain: "home.example.org"))])
        #expect(sent() == "a=2; c=3")
        await jar.removeAll()
        #expect(sent() == nil)
        receive("a=2", "b=1")
        #expect(sent() == "a=2; b=1")
    }

    @Test func theCookiesOfARequestGoFirst() {
        receive("a=1", "b=1")
        #expect(sent(own: "b=own") == "b=own; a=1")
        #expect(sent() == "a=1; b=1")
    }

    @Test func everyURLHasItsOwnCookies() {
        receive("a=1; Path=/a")
        receive("b=1; Path=/b", from: "http://home.example.org/b")
        for number in 0..<200 { _ = sent("http://home.example.org/b/\(number)") }
        #expect(sent() == "a=1")
        #expect(sent("http://home.example.org/b/7") == "b=1")
        #expect(sent("http://other.example.org/a/b") == nil)
        #expect(sent("mailto:a") == nil)
    }

    @Test func sendingIsAUse() async {
        receive("a=1")
        _ = sent()
        clock.move(by: 5)
        _ = sent()
        #expect(await jar.all.map(\.lastAccessed) == [clock.now])
    }

    /// A cookie whose value alone changes is stored without its field being parsed again. Each of these fields follows one that such a
    /// shortcut could take for its like.
    @Test(
        arguments: [
            (["a=1; Path=/", "a=22; Path=/", "a=; Path=/", "a=333; Path=/"], "a=333"),
            (["a=1", "a=2; Max-Age=0"], nil), (["a=1; Path=/", "a=2; Path=/x"], "a=1"),
            (["a=1; Path=/", "a= 2 ; Path=/"], "a=2"), (["a=1; Path=/", "a=\u{1}; Path=/"], "a="),
            (["a=1; Path=/", "ab=2; Path=/"], "a=1; ab=2"), (["a; b=1", "a; b=2"], "a"),
            (["=1; Path=/", "=2; Path=/"], "2"), (["a=b=c; Path=/", "a=b=d; Path=/"], "a=b=d"),
            (["a=1; Path=/", "a=\(String(repeating: "x", count: 5_000)); Path=/"], "a=1"),
            (["a=1", "a=é", "a=3"], "a=3"), (["a=1;", "a=2;"], "a=2"), (["a=1; Path=/", "a=2; Path=/;"], "a=2"),
        ] as [([String], String?)])
    func aChangedValue(_ fields: [String], _ expected: String?) {
        for field in fields {
            receive(field)
            _ = sent()
        }
        #expect(sent() == expected)
    }

    @Test func aChangedValueKeepsTheCreationAndProlongsTheCookie() async {
        receive("a=1; Max-Age=10; Path=/")
        let created = clock.now
        for number in 2...4 {
            clock.move(by: 8)
            receive("a=\(number); Max-Age=10; Path=/")
            #expect(sent() == "a=\(number)")
        }
        #expect(await jar.all.map(\.created) == [created])
        clock.move(by: 10)
        #expect(sent() == nil)
    }

    @Test func aValueThatAnotherURLHasChangedIsSetAgain() {
        for _ in 0..<2 {
            receive("a=1; Path=/")
            #expect(sent() == "a=1")
            receive("a=2; Path=/", from: "http://home.example.org/b")
            #expect(sent() == "a=2")
            receive("a=3; Path=/; HttpOnly", from: "http://home.example.org/c")
            #expect(sent() == "a=3")
        }
    }

    @Test func valuesThatGrewBeyondTheLimitAreLeftOut() {
        let jar = CookieJar(limits: CookieLimits(fieldSize: 20), suffixes: .test, now: { [clock] in clock.now })
        func receive(_ field: String) {
            var headers = HTTPFields()
            headers.append(HTTPField(name: .setCookie, value: field))
            jar.keepCookies(
                of: Response(head: ResponseHead(status: .ok, headers: headers), url: Self.url), to: Request(Self.url))
        }
        func sent() -> String? { jar.addingCookies(to: Request(Self.url)).headers[.cookie] }
        receive("a=1")
        receive("b=1")
        #expect(sent() == "a=1; b=1")
        receive("b=2")
        receive("b=12345678901234567")
        #expect(sent() == "a=1")
        receive("b=3")
        #expect(sent() == "a=1; b=3")
    }

    /// Two URLs that set the same cookie for a while, in turns, change nothing that is sent.
    @Test func theDatesOfACookieAreNoChange() throws {
        var store = CookieStore(suffixes: .test)
        let urls = try ["http://home.example.org/a", "http://home.example.org/b"].map(CookieStore.url)
        let fields = ["a=1; Max-Age=10; Path=/", "b=1; Path=/"]
        _ = store.receive(fields, from: urls[0], at: clock.now)
        let (version, created) = (store.version, clock.now)
        for number in 1...6 {
            clock.move(by: 8)
            let changed = store.receive(fields, from: urls[number % 2], at: clock.now)
            #expect(changed.map(\.name) == ["a"], "a file holds its end")
        }
        #expect(store.version == version)
        let cookies = store.cookies(for: urls[0], at: clock.now)
        #expect(cookies.map(\.created) == [created, created])
        #expect(cookies.first?.expires == clock.now.addingTimeInterval(10))
        _ = store.receive(["a=1; Max-Age=5; Path=/"], from: urls[1], at: clock.now)
        clock.move(by: 5)
        #expect(store.cookies(for: urls[0], at: clock.now).map(\.name) == ["b"])
        for change in ["b=2; Path=/", "b=2; Path=/; HttpOnly", "b=2; Path=/; SameSite=Lax"] {
            let version = store.version
            _ = store.receive([change], from: urls[0], at: clock.now)
            #expect(store.version > version)
        }
    }
}
