import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Responses that give a stored one a `Vary`: the stored body was made for a request whose fields are not known any more.
@Suite(.timeLimit(.minutes(3)))
struct CacheSelectionTests {
    private typealias World = CacheWorld

    /// A stored response, a later one, and whether the later one may give the stored one its `Vary`.
    static let rows: [(RFCSection, stored: [String], newer: [String], Bool)] = [
        (.rfc9111("3.2"), [], [], true), (.rfc9111("3.2"), ["Vary: A"], [], true),
        (.rfc9111("3.2"), ["Vary: A"], ["Vary: A"], true), (.rfc9111("4.1"), [], ["Vary: A"], false),
        (.rfc9111("4.1"), ["Vary: A"], ["Vary: A, B"], false), (.rfc9111("4.1"), ["ETag: \"a\""], ["Vary: A"], false),
        (.rfc9111("4.1"), ["ETag: \"a\""], ["Vary: A", "ETag: \"b\""], false),
        (.rfc9111("4.3.4"), ["ETag: \"a\""], ["Vary: A", "ETag: \"a\""], true),
    ]

    @Test(arguments: rows) func onlyTheSameTagTellsThatTheSelectionIsTheSame(
        _ section: RFCSection, _ stored: [String], _ newer: [String], _ isAllowed: Bool
    ) {
        let (head, response) = (CacheSamples.head(stored), CacheSamples.head(newer))
        #expect(CacheUpdate.mayReselect(head, with: response) == isAllowed)
    }

    /// The stored response was made for another language than the `HEAD`, or the condition, that brings the `Vary`.
    @Test(arguments: [HTTPRequest.Method.head, .get])
    func aResponseIsNotServedForAnotherLanguage(_ method: HTTPRequest.Method) async throws {
        let world = World { request in
            let language = request.headers[.acceptLanguage] ?? ""
            let fields: HTTPFields = [.cacheControl: "max-age=60"]
            guard request.headers.contains(.ifNoneMatch) || request.method == .head else {
                return World.response(language, fields)
            }
            return World.response("", status: request.method == .head ? 200 : 304, fields + [.vary: "Accept-Language"])
        }
        let german = Request(World.url, headers: [.acceptLanguage: "de"])
        #expect(try await world.get(german)[0] == "de")
        world.pass(61)
        var bringing = Request(World.url, method: method)
        bringing.headers[.acceptLanguage] = "en"
        if method == .get { bringing.headers[.ifNoneMatch] = "\"x\"" }
        _ = try await world.session.data(bringing)
        let english = try await world.get(Request(World.url, headers: [.acceptLanguage: "en"]))
        #expect(english[0] == "en")
    }
}
