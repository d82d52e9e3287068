import CurlEngine
import FoundationEssentials
import TestSupport

@testable import TrellisCore

extension PublicSuffixes {
    /// A list of public suffixes that does not depend on the machine.
    static let test = PublicSuffixes { ["com", "org", "example", "test", "co.uk", "uk", "github.io"].contains($0) }
}

extension CookieStore {
    static let testURL = "http://home.example.org/cookie-parser?q"

    /// Returns the field of a request to `target` after the fields came from `source`.
    static func sent(
        after fields: [String], from source: String = testURL, to target: String? = nil,
        limits: CookieLimits = CookieLimits()
    ) throws -> String? {
        var store = CookieStore(limits: limits, suffixes: .test)
        let now = WallClock().now
        _ = store.receive(fields, from: try url(source), at: now)
        return Cookie.field(store.cookies(for: try url(target ?? source), at: now))
    }

    static func url(_ text: String) throws -> CookieURL {
        struct Unusable: Error {}
        guard let url = CookieURL(text) else { throw Unusable() }
        return url
    }
}

extension CookieJar {
    /// Returns the value of the `Cookie` field for a URL.
    func field(for url: String) async -> String? { Cookie.field(await cookies(for: url)) }
}
