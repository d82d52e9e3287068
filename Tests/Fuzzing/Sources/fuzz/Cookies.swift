import FoundationEssentials

@testable import TrellisCore

private let now = Date(timeIntervalSince1970: 1_700_000_000)
private let urls = [
    "http://home.example.org/a/b", "https://home.example.org/a/b", "https://127.0.0.1/", "http://[::1]/x",
    "http://localhost/",
].compactMap { CookieURL($0) }
private let suffixes = PublicSuffixes { ["org", "co.uk", "localhost"].contains($0) }

/// Checks the cookie jar with any field of a server: the jar stores and sends only valid cookies, and writes files from which the same
/// cookies are read. Any content of a cookie file can be read and written again.
func fuzzCookies(_ input: FuzzInput) {
    let url = urls[Int(input.choice) % urls.count]
    var store = CookieStore(limits: CookieLimits(perDomain: 3, total: 5), suffixes: suffixes)
    for line in input.body.split(separator: 10) {
        _ = store.receive([String(decoding: line, as: UTF8.self)], from: url, at: now)
    }
    let all = store.all
    precondition(all.count == store.count && all.count <= 5, "too many are kept")
    for cookie in all { check(cookie, from: url) }
    let field = Cookie.field(store.cookies(for: url, at: now))
    precondition(field?.utf8.contains { $0.isCookieControl } != true, "a line could be broken")

    let file = NetscapeCookies(cookies: all)
    let held = all.filter(NetscapeCookies.canHold)
    let read = NetscapeCookies(file.data, at: now).cookies
    precondition(read.count == held.count, "another number in the file")
    precondition(zip(read, held).allSatisfy { $0.replaces($1) && $0.value == $1.value }, "others in the file")

    let foreign = NetscapeCookies(Data(input.body), at: now)
    let again = NetscapeCookies(foreign.data, at: now)
    precondition(again.data == foreign.data, "a file changes by being read")
    precondition(again.isCookieFile, "what was written is no file of cookies")
}

private func check(_ cookie: Cookie, from url: CookieURL) {
    precondition(CookieDomain.matches(url.host, cookie.domain), "for another host")
    precondition(cookie.isHostOnly || !suffixes.contains(cookie.domain), "for a public suffix")
    precondition(cookie.isHostOnly || !url.hasAddress, "below an address")
    precondition(!cookie.isSecure || url.isSecure, "secure from an insecure origin")
    precondition(cookie.isWellFormed && !cookie.isExpired(at: now), "not to be kept")
    precondition(cookie.expires.map { $0 <= now + Cookie.maximumAge } ?? true, "lives too long")
    precondition(CookiePrefix.allows(cookie, hasPath: true), "breaks the promise of its name")
    guard let parsed = SetCookie("\(cookie.name)=\(cookie.value)") else { preconditionFailure("cannot be sent") }
    precondition(parsed.name == cookie.name && parsed.value == cookie.value, "comes out as another")
}
