import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// Chains of redirects: their maximum length, and loops.
struct RedirectChainTests {
    /// Follows the redirects of a server until another decision ends the chain.
    static func follow(
        _ url: String, method: HTTPRequest.Method = .get, policy: RedirectPolicy = RedirectPolicy(),
        location: (Int, Request) -> (Int, String)?
    ) -> (outcome: RedirectPolicyTests.Outcome, redirects: [Redirect]) {
        var request = Request(url, method: method)
        var redirects: [Redirect] = []
        while true {
            guard let (status, target) = location(redirects.count, request) else { return (.answer, redirects) }
            let response = RedirectPolicyTests.response(status, [target], to: request.url)
            let decision = policy.decision(for: response, to: request, redirects: redirects)
            guard case .follow(let next, let redirect) = decision else {
                return (RedirectPolicyTests.Outcome(decision), redirects)
            }
            request = next
            redirects.append(redirect)
        }
    }

    @Test(arguments: [(0, 0), (1, 1), (20, 20), (-1, 0)])
    func aChainMayBeSoLong(_ limit: Int, _ followed: Int) {
        var policy = RedirectPolicy()
        policy.maximumRedirects = limit
        let endless = Self.follow("http://a.example/", policy: policy) { count, _ in (302, "/\(count)") }
        #expect(endless.outcome == .failure(.tooManyRedirects))
        #expect(endless.redirects.count == followed)
        let exact = Self.follow("http://a.example/", policy: policy) { count, _ in
            count < followed ? (302, "/\(count)") : nil
        }
        #expect(exact.outcome == .answer)
        #expect(exact.redirects.count == followed)
    }

    @Test func twentyAreFollowedUnlessSet() {
        let chain = Self.follow("http://a.example/") { count, _ in (302, "/\(count)") }
        #expect(chain.redirects.count == 20)
    }

    @Test func aURLIsVisitedFiveTimes() {
        let itself = Self.follow("http://a.example/") { _, _ in (302, "/") }
        #expect(itself.outcome == .failure(.tooManyRedirects))
        #expect(itself.redirects.count == 4)
        let pair = Self.follow("http://a.example/a") { count, _ in (302, count.isMultiple(of: 2) ? "/b" : "/a#x") }
        #expect(pair.outcome == .failure(.tooManyRedirects))
        #expect(pair.redirects.count == 9)
        let tail = Self.follow("http://a.example/start") { _, _ in (302, "HTTP://A.example:80/end") }
        #expect(tail.redirects.count == 5)
    }

    @Test func aPageThatSetsACookieFirstIsReached() {
        let chain = Self.follow("http://a.example/") { count, _ in count < 3 ? (302, "/") : nil }
        #expect(chain.outcome == .answer)
        #expect(chain.redirects.count == 3)
    }

    @Test func theChainIsListed() {
        let chain = Self.follow("http://ann:pw@a.example/a b#x", method: .post) { count, request in
            [(307, "/b"), (303, "https://b.example"), nil][count]
        }
        #expect(
            chain.redirects == [
                Redirect(
                    status: .temporaryRedirect, from: "http://a.example/a%20b", to: "http://a.example/b", fragment: "x"),
                Redirect(status: .seeOther, from: "http://a.example/b", to: "https://b.example/", fragment: "x"),
            ])
    }

    @Test(
        arguments: [
            (.tooMany(limit: 20), .tooManyRedirects, "there are more than 20 redirects in a row"),
            (.tooMany(limit: 1), .tooManyRedirects, "there are more than 1 redirects in a row"),
            (.tooMany(limit: 0), .tooManyRedirects, "there is a redirect, and none is followed"),
            (
                .loop(url: "http://a.example/"), .tooManyRedirects,
                "the redirects lead to http://a.example/ again and again"
            ),
            (.refused("it is bad"), .redirectRefused, "the redirect is refused: it is bad"),
        ] as [(TrellisError.RedirectFailure, TrellisError.Kind, String)])
    func theErrorsSayWhatHappened(_ failure: TrellisError.RedirectFailure, _ kind: TrellisError.Kind, _ text: String) {
        let error = TrellisError(.redirectFailed(failure))
        #expect(error.kind == kind)
        #expect(error.description == text)
    }
}
