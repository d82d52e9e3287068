import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// The conditions of routes, and the differences that a router shows between a request and its nearest route.
@Suite(.timeLimit(.minutes(3)))
struct RouteConditionTests {
    private struct User: Encodable { var name: String, age: Int }

    /// Sends a request to a router with one route; returns the differences that the error shows, or `nil` if the route responds.
    private func differences(
        _ request: Request, _ conditions: [RouteCondition], _ pattern: String = "/", method: HTTPRequest.Method? = nil
    ) async throws -> [String]? {
        let router = MockRouter()
        switch conditions.count {
        case 0: router.route(method, pattern).respond(with: .text("found")).optional()
        case 1: router.route(method, pattern, conditions[0]).respond(with: .text("found")).optional()
        default: router.route(method, pattern, conditions[0], conditions[1]).respond(with: .text("found")).optional()
        }
        do {
            _ = try await Session(transport: router).data(request)
            try router.verify()
            return nil
        } catch let error as TrellisError {
            let problem = try #require(router.unmatched.first)
            #expect("\(error)".contains(problem.description))
            return problem.description.split(separator: "\n").dropFirst().map { $0.drop { $0 == " " } }.map(String.init)
        }
    }

    private func get(_ target: String, headers: HTTPFields = [:]) -> Request {
        Request("http://mock.example\(target)", headers: headers)
    }

    private func post(_ body: String, type: String = "application/json") -> Request {
        Request("http://mock.example/", method: .post, body: .string(body, contentType: type))
    }

    @Test func aRequestThatMeetsItsConditionsIsFound() async throws {
        let request = get("/?a=b%20c&d=e+f&a=2", headers: [.accept: "x/y"])
        for condition in [
            RouteCondition.query("a", "b c"), .query("a", "2"), .query("d", "e f"), .query("d"),
            .onlyQuery(["d": "e f", "a": "2", "a": "b c"]), .header("accept", "x/y"), .header("ACCEPT"),
            .noHeader("Cookie"), .host("MOCK.example"), .satisfying("is a GET") { $0.method == .get }, .body(""),
        ] {
            #expect(try await differences(request, [condition]) == nil, "\(condition)")
        }
        #expect(try await differences(request, [], "/?a=2&d=e+f") == nil)
    }

    @Test func aDifferenceShowsTheExpectedAndTheActualValue() async throws {
        let request = get("/?a=1&a=2", headers: [.accept: "x/y"])
        let cases: [(RouteCondition, String)] = [
            (.query("a", "3"), "query a: expected 3, was 1, 2"), (.query("b", "3"), "query b: expected 3, was missing"),
            (.query("b"), "query b: expected any value, was missing"),
            (.onlyQuery(["a": "1"]), "query: expected a=1, was a=1&a=2"),
            (.onlyQuery([:]), "query: expected none, was a=1&a=2"),
            (.header("Accept", "x/z"), "field Accept: expected x/z, was x/y"),
            (.header("X-Key", "x"), "field X-Key: expected x, was missing"),
            (.header("X-Id"), "field X-Id: expected any value, was missing"),
            (.noHeader("Accept"), "field Accept: expected none, was x/y"),
            (.host("other.example"), "host: expected other.example, was mock.example"),
            (.satisfying("is new") { _ in false }, "condition: expected that the request is new, was not met"),
        ]
        for (condition, difference) in cases {
            #expect(try await differences(request, [condition]) == [difference])
        }
    }

    @Test func allDifferencesOfTheNearestRouteAreShown() async throws {
        let found = try await differences(
            get("/users/8"), [.query("page", "2"), .header("X-Key", "k")], "/users/7", method: .post)
        #expect(
            found == [
                "method: expected POST, was GET", "path: expected /users/7, was /users/8",
                "query page: expected 2, was missing", "field X-Key: expected k, was missing",
            ])
        #expect(
            try await differences(get("/"), [], "https://mock.example/") == [
                "origin: expected https://mock.example, was http://mock.example"
            ])
    }

    @Test func secretsAreNotShown() async throws {
        let request = get("/?token=s3cret", headers: [.authorization: "Bearer s3cret", .cookie: "id=s3cret"])
        let conditions: [(RouteCondition, String)] = [
            (
                .header("Authorization", "Bearer t0p"),
                "field Authorization: expected Bearer REDACTED, was another value"
            ),
            (
                .header("Authorization", "Basic t0p"),
                "field Authorization: expected Basic REDACTED, was Bearer REDACTED"
            ),
            (.noHeader("Cookie"), "field Cookie: expected none, was REDACTED"),
            (.query("token", "t0p"), "query token: expected REDACTED, was another value"),
            (.onlyQuery(["token": "t0p"]), "query: expected token=REDACTED, was token=REDACTED"),
        ]
        for (condition, difference) in conditions {
            #expect(try await differences(request, [condition]) == [difference])
            #expect(!condition.description.contains("t0p"))
        }
        let router = MockRouter()
        _ = try? await Session(transport: router).data(request)
        #expect(
            router.unmatched.map(\.description) == [
                "no route for GET http://mock.example/?token=REDACTED: the router has no routes"
            ])
    }

    @Test(
        arguments: [
            (#"{"name":"Ada","tags":[1,2.5,null,true]}"#, nil),
            (#" { "tags" : [1.0, 2.5, null, true], "name" : "\u0041da" } "#, nil),
            (#"{"name":"Bob","tags":[1,2.5,null,true]}"#, #"body at $.name: expected "Ada", was "Bob""#),
            (#"{"name":"Ada"}"#, "body at $.tags: expected [1, 2.5, null, true], was none"),
            (#"{"name":"Ada","tags":[1,2.5,null,true],"x":{"a":"b"}}"#, #"body at $.x: expected none, was {"a": "b"}"#),
            (#"{"name":"Ada","tags":[1,2.5,null]}"#, "body at $.tags: expected 4 elements, was 3"),
            (#"{"name":"Ada","tags":[1,2.5,false,true]}"#, "body at $.tags[2]: expected null, was false"),
            (#"{"name":"Ada","tags":[1,2.5,null,1]}"#, "body at $.tags[3]: expected true, was 1"),
            ("[1]", #"body at $: expected {"name": "Ada", "tags": [1, 2.5, null, true]}, was [1]"#),
            ("name", #"body: expected JSON, was "name""#), ("", "body: expected JSON, was empty"),
        ] as [(String, String?)])
    func jsonIsComparedByItsValues(_ body: String, _ difference: String?) async throws {
        let condition = RouteCondition.json(#"{"name": "Ada", "tags": [1, 2.5, null, true]}"#)
        #expect(try await differences(post(body), [condition]) == difference.map { [$0] })
    }

    @Test func anEncodedValueIsComparedAsJSON() async throws {
        let condition = RouteCondition.json(encoding: User(name: "Ada", age: 36))
        #expect(try await differences(post(#"{"age":36,"name":"Ada"}"#), [condition]) == nil)
        #expect(
            try await differences(post(#"{"age":37,"name":"Ada"}"#), [condition]) == [
                "body at $.age: expected 36, was 37"
            ])
    }

    @Test func secretsOfBodiesAreNotShown() async throws {
        let json = #"{"user":{"password":"s3cret"}}"#
        let cases: [(Request, RouteCondition, String)] = [
            (
                post(json), .json(#"{"user":{"password":"t0p"}}"#),
                "body at $.user.password: expected REDACTED, was another value"
            ),
            (post(json), .json(#"{"user":1}"#), #"body at $.user: expected 1, was {"password": REDACTED}"#),
            (
                post(json), .body(#"{"user":{"password":"t0p"}}"#),
                #"body: expected "{"user":{"password":"REDACTED"}}", was 30 bytes, the first difference at 21"#
            ),
            (
                post("a=1&password=s3cret", type: "text/plain"), .body("a=1&password=t0p"),
                #"body: expected "a=1&password=REDACTED", was 19 bytes, the first difference at 13"#
            ),
            (
                post("a=1&password=s3cret", type: "text/plain"), .form(["a": "1", "password": "t0p"]),
                "form: expected a=1&password=REDACTED, was a=1&password=REDACTED"
            ),
        ]
        for (request, condition, difference) in cases {
            #expect(try await differences(request, [condition]) == [difference])
        }
    }

    @Test func bodiesAreComparedByTheirBytes() async throws {
        #expect(try await differences(post("abc"), [.body("abc")]) == nil)
        #expect(try await differences(post("abc"), [.body("abd")]) == [#"body: expected "abd", was "abc""#])
        #expect(try await differences(get("/"), [.body(Data([0xFF]))]) == ["body: expected 1 bytes, was empty"])
        let long = String(repeating: "x", count: 200)
        let shown = String(repeating: "x", count: 120) + "…"
        #expect(
            try await differences(post(long + "1"), [.body(long + "2")]) == [
                #"body: expected "\#(shown)", was 201 bytes, the first difference at 200"#
            ])
        #expect(try await differences(post("b=2&a=1+1"), [.form(["a": "1 1", "b": "2"])]) == nil)
    }

    // MARK: The nearest route

    @Test func theNearestRouteIsShownWithItsPlace() async throws {
        let router = MockRouter()
        router.route(.get, "/other/things/there").respond(with: .text("1")).optional()
        router.route(.delete, "/users/7").respond(with: .text("2")).optional()
        let line = #line + 1
        router.route(.get, "/users/{id}", .query("page", "2")).respond(with: .text("3")).optional()
        let error = await #expect(throws: TrellisError.self) {
            try await Session(transport: router).data("http://mock.example/users/7")
        }
        let text = """
            no route for GET http://mock.example/users/7; the nearest is GET /users/{id} with query page=2 \
            (RouteConditionTests.swift:\(line)):
              query page: expected 2, was missing
            """
        #expect(error?.reason == .other(text))
        #expect(error?.kind == .other)
        #expect(router.unmatched.first?.description == text)
        #expect(router.unmatched.first?.location?.line == line)
        #expect(router.unmatched.first?.location?.fileID == #fileID)
    }

    @Test func theProblemsAreThrownInOneError() async throws {
        let router = MockRouter()
        router.route(.get, "/a").respond(with: .text("1"))
        let line = #line - 1
        router.route(.get, "/b").then(.text("1")).then(.text("2"))
        router.route(.get, "/c").respond(with: .text("1")).optional()
        router.route(.get, "/d")
        let session = Session(transport: router)
        _ = try await session.data("http://mock.example/b")
        _ = try? await session.data("http://mock.example/d")
        let error = #expect(throws: TestProblems.self) { try router.verify() }
        let file = "RouteConditionTests.swift"
        #expect(
            error?.description == """
                \(file):\(line + 4): GET /d has no response for GET http://mock.example/d
                \(file):\(line): GET /a was not requested
                \(file):\(line + 2): GET /b has 2 responses, of which 1 were given
                """)
        #expect(router.finish(hasFailed: true).count == 1)
        #expect(router.finish(hasFailed: false).count == 3)
    }
}
