import Foundation
import Testing

/// Redirects, and the fragments of URLs.
@Suite(.timeLimit(.minutes(60))) struct RedirectTests {
    @Test func redirectsAreFollowedAndReported() async throws {
        let report = try await report(["\(url)/redirect/2"]).report
        #expect(report.values("url", "status", "attempts") == ["\(url)/request", 200, 1])
        #expect(
            report["redirects"] == [
                ["status": 302, "from": "\(url)/redirect/2", "to": "\(url)/redirect/1"],
                ["status": 302, "from": "\(url)/redirect/1", "to": "\(url)/request"],
            ])
    }

    @Test func aRedirectAfterAPOSTIsAGET() async throws {
        let run = try await report(["\(url)/redirect/1", "-d", "a"])
        #expect(run.bodyText.hasPrefix("GET /request"))
    }

    @Test func asManyRedirectsAsAllowedAreFollowed() async throws {
        let run = try await report(["\(url)/redirect/3", "--redirects", "3"])
        #expect(run.report["status"] == 200)
        #expect(run.report["redirects"].elements.count == 3)
    }

    @Test func moreRedirectsThanAllowedAreAFailure() async throws {
        let run = try await report(["\(url)/redirect/3", "--redirects", "2"], status: 1)
        #expect(run.report.values("ok", "error.kind") == [false, "too_many_redirects"])
        #expect(run.report["redirects"].elements.count == 2)
    }

    @Test func aRedirectIsAFailureWithItsAnswerWhenNoneIsAllowed() async throws {
        let report = try await report(["\(url)/redirect/1", "--redirects", "0"], status: 1).report
        #expect(report.values("error.kind", "redirects", "status") == ["too_many_redirects", [], 302])
        #expect(report["headers"].elements.contains(["Location", "/request"]))
    }

    @Test func aRedirectIsTheAnswerWhenNoneIsFollowed() async throws {
        let run = try await report(["\(url)/redirect/1", "--no-redirects"])
        #expect(run.report.values("status", "redirects", "url") == [302, [], "\(url)/redirect/1"])
    }

    @Test func aRedirectToAFileIsRefused() async throws {
        let run = try await report(["\(url)/leave"], status: 1)
        #expect(run.report["error"]["kind"] == "redirect_refused")
    }

    /// The fragment of a redirect replaces the previous one; a redirect without one inherits it (RFC 9110, section 10.2.2).
    @Test(arguments: [
        ("/redirect/2#old", "/request#old"), ("/fragment/new#old", "/request#new"), ("/fragment/new", "/request#new"),
        ("/fragment/new/none#old", "/request#new"), ("/fragment/one/two", "/request#two"), ("/redirect/1", "/request"),
        ("/request?a#oé ld", "/request?a#o%C3%A9%20ld"), ("/request#\u{301}x", "/request#%CC%81x"),
    ])
    func aFragmentIsInheritedOrReplaced(target: String, wanted: String) async throws {
        let run = try await report([url + target])
        #expect(run.report.values("url", "status") == ["\(url)\(wanted)", 200])
    }

    @Test func aFragmentIsReplacedForAFileToo() async throws {
        let folder = try TemporaryFolder()
        let run = try await report(["\(url)/fragment/new#old", "-o", folder["a"]])
        #expect(run.report["url"] == "\(url)/request#new")
    }
}
