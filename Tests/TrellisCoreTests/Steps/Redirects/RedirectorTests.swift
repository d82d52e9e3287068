import HTTPTypes
import Testing

@testable import TrellisCore

/// The handlers that decide on a redirect, and the arguments that they receive.
struct RedirectorTests {
    static let request = Request("https://a.example/a", method: .post, body: .string("x"))
        .withAuthorization(bearerToken: "x")

    static func next(
        _ handler: (any RedirectHandler)?, _ location: String = "https://b.example/b", status: Int = 303,
        redirects: [Redirect] = [], request: Request = RedirectorTests.request
    ) async throws -> (request: Request, redirect: Redirect)? {
        let response = RedirectPolicyTests.response(status, [location], to: request.url)
        let next = try await RedirectPolicy().next(
            after: response, to: request, handler: handler, context: .test(redirects: redirects))
        return next.map { ($0.hop.adapted, $0.redirect) }
    }

    @Test func nobodyIsAskedOrEverythingIsFollowed() async throws {
        for handler in [nil, .follow] as [Redirector?] {
            let next = try #require(try await Self.next(handler))
            #expect(next.request.url == "https://b.example/b")
            #expect(next.request.method == .get)
            #expect(
                next.redirect == Redirect(status: .seeOther, from: "https://a.example/a", to: "https://b.example/b"))
        }
    }

    @Test(arguments: ["https://b.example/b", "file:///etc/passwd", "http://a.example/", "https://b.example./", "//"])
    func whatIsNotFollowedIsAnAnswerWhereverItLeads(_ location: String) async throws {
        #expect(try await Self.next(.doNotFollow, location) == nil)
    }

    @Test func theHandlerSeesWhatWouldBeSentAndTheRedirect() async throws {
        let seen = Redirector.modify { request, response in
            #expect(request.url == "https://b.example/b")
            #expect(request.method == .get)
            #expect(request.body == nil)
            #expect(request.headers.isEmpty)
            #expect(response.status == .seeOther)
            return request.withHeader(.accept("a/b"))
        }
        let next = try #require(try await Self.next(seen))
        #expect(next.request.headers[.accept] == "a/b")
        #expect(try await Self.next(.modify { _, _ in nil }) == nil)
    }

    @Test func theHopIsTheOneThatIsTaken() async throws {
        let next = try #require(
            try await Self.next(.modify { request, _ in request.setting(\.url, to: "https://C.example/c d#e") }))
        #expect(next.request.url == "https://C.example/c d#e")
        #expect(next.redirect.to == "https://C.example/c%20d" || next.redirect.to == "https://c.example/c%20d")
    }

    /// A handler that only changes the URL does not send the credential of the old origin to the new one.
    @Test(
        arguments: [
            ("https://a.example/c", "Bearer x"), ("https://c.example/", nil), ("https://a.example:8443/", nil),
            ("http://a.example/", nil),
        ] as [(String, String?)])
    func fieldsOfTheOldOriginThatAreLeftInPlaceAreRemoved(_ url: String, _ field: String?) async throws {
        let handler = Redirector.modify { request, _ in request.setting(\.url, to: url) }
        let next = try #require(try await Self.next(handler, "/b"))
        #expect(next.request.headers[.authorization] == field)
    }

    @Test func fieldsThatAHandlerWritesAreSentToAnyOrigin() async throws {
        let handler = Redirector.modify { request, _ in
            request.setting(\.url, to: "https://c.example/").withAuthorization(bearerToken: "c")
        }
        let next = try #require(try await Self.next(handler, "/b"))
        #expect(next.request.headers[.authorization] == "Bearer c")
    }

    /// So it is with the trailers: those of the old origin lose their secrets, and those that the handler writes do not.
    @Test(arguments: [true, false]) func trailersThatAHandlerWritesAreSentToAnyOrigin(areWritten: Bool) async throws {
        let name = try #require(HTTPField.Name("X-API-Key"))
        let handler = Redirector.modify { request, _ in
            let moved = request.setting(\.url, to: "https://c.example/").withHeader(.accept("a/b"))
            return areWritten ? moved.withTrailers { [name: "c"] } : moved
        }
        let request = Request("https://a.example/a", method: .put, body: .string("x")).withTrailers { [name: "a"] }
        let next = try #require(try await Self.next(handler, "/b", status: 307, request: request))
        #expect(try await next.request.trailers?() == (areWritten ? [name: "c"] : [:]))
    }

    @Test func whatIsNoRedirectIsNotAskedAbout() async throws {
        let handler = Redirector.modify { request, _ in
            Issue.record("asked")
            return request
        }
        #expect(try await Self.next(handler, status: 304) == nil)
        #expect(try await Self.next(handler, "") == nil)
        await #expect(throws: TrellisError.self) { try await Self.next(handler, "file:///x") }
    }

    @Test func theChainSoFarCounts() async throws {
        let redirects = (0..<20).map { Redirect(status: .found, from: "https://a.example/\($0)", to: "x") }
        await #expect(throws: TrellisError.self) { try await Self.next(.follow, redirects: redirects) }
    }

    @Test func whatTheHandlerThrowsComesUnchanged() async {
        struct Own: Error {}
        await #expect(throws: Own.self) { try await Self.next(.modify { _, _ in throw Own() }) }
    }
}
