import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// The request that follows a redirect: its method, body and header fields.
struct RedirectPolicyTests {
    /// The outcome of a decision, for tables.
    enum Outcome: Hashable, Sendable {
        case answer
        case follow(String)
        case failure(TrellisError.Kind)

        init(_ decision: RedirectPolicy.Decision) {
            self =
                switch decision {
                case .answer: .answer
                case .follow(let request, _):
                    .follow("\(request.method) \(request.url)\(request.body == nil ? "" : " + body")")
                case .refuse(let error): .failure(error.kind)
                }
        }
    }

    static func response(_ status: Int, _ locations: [String], to url: String) -> Response {
        var fields = HTTPFields()
        for location in locations { fields.append(HTTPField(name: .location, value: location)) }
        let head = ResponseHead(status: .init(code: status), headers: fields)
        return Response(head: head, url: url)
    }

    static func decision(
        _ status: Int, _ location: String?, of request: Request, policy: RedirectPolicy = RedirectPolicy(),
        redirects: [Redirect] = []
    ) -> RedirectPolicy.Decision {
        let response = response(status, location.map { [$0] } ?? [], to: request.url)
        return policy.decision(for: response, to: request, redirects: redirects)
    }

    static func next(_ decision: RedirectPolicy.Decision) throws -> Request {
        if case .follow(let request, _) = decision { return request }
        throw TrellisError(.other("\(decision)"))
    }

    // MARK: Methods and bodies

    @Test(
        arguments: [
            (300, "GET", false, .answer), (304, "GET", false, .answer), (305, "GET", false, .answer),
            (306, "GET", false, .answer), (309, "GET", false, .answer), (200, "GET", false, .answer),
            (201, "POST", true, .answer), (404, "GET", false, .answer), (100, "GET", false, .answer),
            (301, "GET", false, .follow("GET http://a.example/b")),
            (301, "HEAD", false, .follow("HEAD http://a.example/b")),
            (301, "POST", true, .follow("GET http://a.example/b")),
            (301, "POST", false, .follow("GET http://a.example/b")),
            (301, "PUT", true, .follow("PUT http://a.example/b + body")),
            (301, "DELETE", false, .follow("DELETE http://a.example/b")),
            (302, "POST", true, .follow("GET http://a.example/b")),
            (302, "PATCH", true, .follow("PATCH http://a.example/b + body")),
            (302, "QUERY", true, .follow("QUERY http://a.example/b + body")),
            (302, "post", true, .follow("post http://a.example/b + body")),
            (303, "GET", false, .follow("GET http://a.example/b")),
            (303, "GET", true, .follow("GET http://a.example/b")),
            (303, "HEAD", false, .follow("HEAD http://a.example/b")),
            (303, "POST", true, .follow("GET http://a.example/b")),
            (303, "PUT", true, .follow("GET http://a.example/b")),
            (303, "DELETE", false, .follow("GET http://a.example/b")),
            (303, "QUERY", true, .follow("GET http://a.example/b")),
            (307, "POST", true, .follow("POST http://a.example/b + body")),
            (307, "GET", false, .follow("GET http://a.example/b")),
            (308, "POST", true, .follow("POST http://a.example/b + body")),
            (308, "PUT", true, .follow("PUT http://a.example/b + body")),
        ] as [(Int, String, Bool, Outcome)])
    func theStatusAndTheMethodDecide(_ status: Int, _ method: String, _ hasBody: Bool, _ outcome: Outcome) throws {
        let request = Request(
            "http://a.example/a", method: try #require(HTTPRequest.Method(method)),
            body: hasBody ? .string("x") : nil)
        #expect(Outcome(Self.decision(status, "/b", of: request)) == outcome)
    }

    static let once = RequestBody.stream(AsyncStream<Data> { $0.finish() })
    static let again = RequestBody.stream { AsyncStream<Data> { $0.finish() } }

    static func form(_ body: RequestBody) -> RequestBody {
        var form = MultipartFormData()
        form.append(MultipartFormData.Part(.data(Data())))
        form.append(MultipartFormData.Part(body))
        return .multipart(form)
    }

    @Test(
        arguments: [
            (307, 0, .failure(.bodyNotReplayable)), (308, 0, .failure(.bodyNotReplayable)),
            (307, 2, .failure(.bodyNotReplayable)), (307, 4, .failure(.bodyNotReplayable)),
            (307, 1, .follow("POST http://a.example/b + body")), (307, 3, .follow("POST http://a.example/b + body")),
            (307, 5, .follow("POST http://a.example/b + body")),
            // The body is not sent again.
            (303, 0, .follow("GET http://a.example/b")), (302, 0, .follow("GET http://a.example/b")),
        ] as [(Int, Int, Outcome)])
    func aBodyIsSentAgainOnlyIfItCanBe(_ status: Int, _ body: Int, _ outcome: Outcome) {
        let bodies = [
            Self.once, Self.again, Self.form(Self.once), Self.form(Self.again), Self.form(Self.form(Self.once)),
            .file("/x"),
        ]
        let request = Request("http://a.example/a", method: .post, body: bodies[body])
        #expect(Outcome(Self.decision(status, "/b", of: request)) == outcome)
    }

    // MARK: Fields

    static let fieldsOfBody = [
        "Content-Type", "content-length", "Content-Encoding", "Content-Language", "Content-Location", "Content-Range",
        "Content-Disposition", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest", "Transfer-Encoding",
        "Trailer", "Expect", "Idempotency-Key",
    ]
    static let fieldsOfOrigin = [
        "Authorization", "authorization", "Cookie", "Proxy-Authorization", "Host", "Origin", "Referer", "X-Api-Key",
        "X-Amz-Security-Token", "X-Client-Secret",
    ]
    static let others = ["Accept", "User-Agent", "X-Request-Id", "Range", "If-None-Match", "Want-Content-Digest"]

    static func fields(_ names: [String]) throws -> HTTPFields {
        HTTPFields(try names.map { HTTPField(name: try #require(HTTPField.Name($0)), value: "x") })
    }

    static func names(
        _ status: Int, _ location: String, _ names: [String], policy: RedirectPolicy = RedirectPolicy()
    ) throws -> [String] {
        let request = Request(
            "https://a.example/a", method: .post, headers: try fields(names), body: .string("x"))
        return try next(decision(status, location, of: request, policy: policy)).headers.map(\.name.rawName)
    }

    @Test(arguments: fieldsOfBody)
    func whatSpeaksOfTheBodyGoesWithIt(_ name: String) throws {
        #expect(try Self.names(303, "/b", ["Accept", name]) == ["Accept"])
        #expect(try Self.names(307, "/b", ["Accept", name]) == ["Accept", name])
    }

    @Test(arguments: fieldsOfOrigin)
    func whatIsMeantForAnOriginStaysThere(_ name: String) throws {
        #expect(try Self.names(303, "/b", [name, "Accept", name]) == [name, "Accept", name])
        #expect(try Self.names(303, "https://b.example/b", [name, "Accept", name]) == ["Accept"])
    }

    @Test(arguments: others)
    func otherFieldsGoAlong(_ name: String) throws {
        #expect(try Self.names(303, "https://b.example/b", [name]) == [name])
    }

    @Test func theUserMarksSecrets() throws {
        var policy = RedirectPolicy()
        policy.secretFieldNames = [try #require(HTTPField.Name("X-Tenant"))]
        #expect(try Self.names(307, "https://b.example/b", ["x-tenant", "Accept"], policy: policy) == ["Accept"])
        #expect(try Self.names(307, "/b", ["x-tenant", "Accept"], policy: policy) == ["x-tenant", "Accept"])
        var request = Request("https://a.example/a")
        for strategy in [.disallow, .avoid, .automatic] as [HTTPField.DynamicTableIndexingStrategy] {
            var field = HTTPField(name: .accept, value: "\(strategy)")
            field.indexingStrategy = strategy
            request.headers.append(field)
        }
        let next = try Self.next(Self.decision(302, "https://b.example/", of: request))
        #expect(next.headers.count == 2)
        #expect(next.headers.allSatisfy { $0.indexingStrategy != .disallow })
    }

    @Test(
        arguments: [
            ("/b", true), ("https://a.example/b", true), ("HTTPS://A.EXAMPLE:443/b", true), ("//a.example/", true),
            ("//ann@a.example/", true), ("https://b.example/", false), ("https://sub.a.example/", false),
            ("https://a.example:444/", false), ("https://a.example.evil.example/", false),
            ("https://a.example@evil.example/", false), ("https://evil.example/?https://a.example/", false),
            ("https://evil.example#@a.example/", false),
        ])
    func originsAreCompared(_ location: String, _ isSame: Bool) throws {
        let names = try Self.names(307, location, ["Authorization"])
        #expect(names == (isSame ? ["Authorization"] : []))
    }

    @Test func everythingElseOfTheRequestGoesAlong() throws {
        var request = Request("https://a.example/a", method: .post, body: .string("x"))
        request.timeouts = Timeouts(total: .seconds(1))
        request.httpVersion = .http1Only
        request.maximumBodySize = .bytes(1)
        request.decodesContent = false
        let next = try Self.next(Self.decision(303, "https://b.example/", of: request))
        #expect(next.timeouts == request.timeouts)
        #expect(next.httpVersion == .http1Only)
        #expect(next.maximumBodySize == .bytes(1))
        #expect(next.decodesContent == false)
    }

    /// Fields after the body are secrets like those before it.
    @Test func secretsAfterTheBodyStayAtTheirOrigin() async throws {
        let name = try #require(HTTPField.Name("X-API-Key"))
        var request = Request("http://a.example/", method: .put, body: .string("x")).withTrailers {
            [name: "secret", .eTag: "\"1\""]
        }
        RedirectPolicy().removeFieldsBoundToOrigin(from: &request)
        #expect(try await request.trailers?() == [.eTag: "\"1\""])
    }
}
