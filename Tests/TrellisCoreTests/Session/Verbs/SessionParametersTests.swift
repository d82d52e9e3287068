import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// Requests that are built from their parts, as the server receives them.
@Suite(
    .timeLimit(.minutes(3)),
    .trellis(
        .mock { _ in MockResponse() },
        .session {
            $0.userAgent = nil
            $0.acceptLanguage = nil
            $0.baseURL = "http://localhost/"
        }))
struct SessionParametersTests {
    private struct User: Encodable, Sendable { var name = "Ada" }
    private struct Refusal: Error {}

    /// Returns the request as received: the method, the URL, the fields that were given or follow from the body, and the body.
    private static func arrival(_ make: (Session) -> DataRequest) async throws -> String {
        _ = try await make(try #require(Session.current)).data()
        let request = try #require(MockTransport.current?.requests.last)
        let fields = request.request.headers.map { "\($0.name.rawName): \($0.value)" }
        let body = (request.body?.data).text.map { [$0] } ?? []
        return ([request.request.method.rawValue, request.url] + fields + body).joined(separator: " | ")
    }

    @Test func withoutParameters() async throws {
        #expect(try await Self.arrival { $0.request("a") } == "GET | http://localhost/a")
        #expect(try await Self.arrival { $0.request("a", method: .delete) } == "DELETE | http://localhost/a")
        #expect(
            try await Self.arrival { $0.request("a", headers: [.accept: "b/c"]) }
                == "GET | http://localhost/a | Accept: b/c")
        #expect(
            try await Self.arrival { $0.request("a", headers: [.accept("b/c")]) }
                == "GET | http://localhost/a | Accept: b/c")
    }

    @Test func withAnEncoder() async throws {
        let json = try await Self.arrival { $0.request("a", method: .post, parameters: User(), encoder: .json) }
        #expect(json == #"POST | http://localhost/a | Content-Type: application/json | {"name":"Ada"}"#)
        #expect(try await Self.arrival { $0.request("a", parameters: User()) } == "GET | http://localhost/a?name=Ada")
        let query = try await Self.arrival { $0.request("a", method: .query, parameters: User()) }
        let type = "Content-Type: application/x-www-form-urlencoded; charset=utf-8"
        #expect(query == "QUERY | http://localhost/a | \(type) | name=Ada")
        let listed = try await Self.arrival {
            $0.request("a", method: .put, parameters: User(), encoder: .json, headers: [.contentType("text/json")])
        }
        #expect(listed == #"PUT | http://localhost/a | Content-Type: text/json | {"name":"Ada"}"#)
    }

    @Test func withAnEncoding() async throws {
        let query = try await Self.arrival { $0.request("a?b=c", parameters: ["d": 1, "e": "f"]) }
        #expect(query == "GET | http://localhost/a?b=c&d=1&e=f")
        let json = try await Self.arrival {
            $0.request("a", method: .post, parameters: ["d": [1, "x"] as [any Sendable]], encoding: .json)
        }
        #expect(json == #"POST | http://localhost/a | Content-Type: application/json | {"d":[1,"x"]}"#)
        let listed = try await Self.arrival {
            $0.request("a", parameters: ["d": 1], encoding: .form, headers: [.accept("b/c")])
        }
        #expect(listed == "GET | http://localhost/a?d=1 | Accept: b/c")
    }

    @Test func withParametersThatAreMissing() async throws {
        let none: User? = nil
        #expect(try await Self.arrival { $0.request("a", parameters: none) } == "GET | http://localhost/a")
        let nothing: [String: any Sendable]? = nil
        #expect(try await Self.arrival { $0.request("a", parameters: nothing) } == "GET | http://localhost/a")
    }

    @Test func theModifierComesBeforeTheParameters() async throws {
        let arrival = try await Self.arrival {
            $0.request("a", parameters: User(), headers: [.accept: "x/y"]) { request in
                request.method = .post
                request.headers[.contentType] = "m/n"
                request.url += "?q"
            }
        }
        #expect(arrival == "POST | http://localhost/a?q | Accept: x/y | Content-Type: m/n | name=Ada")
    }

    @Test func theModifierWithoutParameters() async throws {
        #expect(try await Self.arrival { $0.request("a") { $0.url += "b" } } == "GET | http://localhost/ab")
        let arrival = try await Self.arrival { $0.request("a", query: ["b": "c"]) { $0.url += "&d" } }
        #expect(arrival == "GET | http://localhost/a?b=c&d")
    }

    @Test func whatTheModifierThrowsIsTheFailure() async throws {
        let session = try #require(Session.current)
        let request = session.request("http://localhost/", parameters: User()) { _ in throw Refusal() }
        await #expect(throws: Refusal.self) { try await request.data() }
    }

    @Test func parametersThatCannotBeEncodedAreTheFailure() async throws {
        let session = try #require(Session.current)
        let request = session.request("http://localhost/", parameters: ["a": Double.nan], encoder: .json)
        await #expect { try await request.data() } throws: { ($0 as? TrellisError)?.kind == .invalidRequest }
    }

    @Test(arguments: ["HEAD", "TRACE"])
    func methodsWithoutABodyRefuseOneFromAnEncoder(_ name: String) async throws {
        let method = try #require(HTTPRequest.Method(name))
        let session = try #require(Session.current)
        let request = session.request("http://localhost/", method: method, parameters: User(), encoder: .json)
        await #expect { try await request.data() } throws: { ($0 as? TrellisError)?.kind == .invalidRequest }
    }

    @Test func aGetMayHaveABody() async throws {
        let arrival = try await Self.arrival { $0.request("a", parameters: User(), encoder: .json) }
        #expect(arrival == #"GET | http://localhost/a | Content-Type: application/json | {"name":"Ada"}"#)
    }
}

extension Data? {
    fileprivate var text: String? { flatMap { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) } }
}
