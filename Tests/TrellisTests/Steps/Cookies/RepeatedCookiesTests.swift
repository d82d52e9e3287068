import FoundationEssentials
import HTTPTypes
import Testing

@testable import Trellis

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
            clock.advance(by: 8)
            receive("a=1; Max-Age=10; Path=/")
        }
        clock.advance(by: 9)
        #expect(sent() == "a=1")
        #expect(await jar.all.map(\.created) == [created])
        #expect(await jar.all.map(\.lastAccessed) == [clock.now])
        clock.advance(by: 1)
        #expect(sent() == nil)
        #expect(await jar.all.isEmpty)
    }

    @Test func aShorterLifetimeCounts() {
        receive("a=1; Max-Age=100")
        receive("a=1; Max-Age=10")
        receive("a=1; Max-Age=10")
        clock.advance(by: 10)
        #expect(sent() == nil)
    }

    @Test func aCookieThatHasNoEndAnyMoreStays() {
        receive("a=1; Max-Age=10")
        receive("a=1")
        clock.advance(by: 1_000)
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
        clock.advance(by: 5)
        _ = sent()
        #expect(await jar.all.map(\.lastAccessed) == [clock.now])
    }
}
