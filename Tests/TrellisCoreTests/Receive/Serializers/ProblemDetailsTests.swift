import FoundationEssentials
import Testing

@testable import TrellisCore

/// The format `application/problem+json` (RFC 9457).
struct ProblemDetailsTests {
    private func decode(_ json: String) throws -> ProblemDetails {
        try JSONDecoder().decode(ProblemDetails.self, from: Data(json.utf8))
    }

    @Test func theMembersOfTheStandardAndBeyond() throws {
        let problem = try decode(
            #"""
            {"type": "https://example.com/probs/out-of-credit", "title": "You do not have enough credit.", "status": 403,
             "detail": "Your current balance is 30.", "instance": "/account/12345/msgs/abc",
             "balance": 30, "accounts": ["/account/12345", {"a": null, "b": [true, 1.5]}]}
            """#)
        #expect(problem.type == "https://example.com/probs/out-of-credit")
        #expect(problem.title == "You do not have enough credit.")
        #expect(problem.status == 403)
        #expect(problem.detail == "Your current balance is 30.")
        #expect(problem.instance == "/account/12345/msgs/abc")
        #expect(problem.extensions["balance"] == .integer(30))
        #expect(problem.extensions["accounts"]?[0]?.stringValue == "/account/12345")
        #expect(problem.extensions["accounts"]?[1]?["b"]?[1] == .number(1.5))
        #expect(problem.extensions["accounts"]?[1]?["a"] == .null)
        #expect(problem.extensions["accounts"]?[2] == nil)
        #expect(problem.extensions.count == 2)
        #expect(problem.description == "You do not have enough credit.: Your current balance is 30.")
        #expect(try JSONDecoder().decode(ProblemDetails.self, from: JSONEncoder().encode(problem)) == problem)
    }

    @Test func whatIsMissingIsNil() throws {
        let problem = try decode("{}")
        #expect(problem == ProblemDetails())
        #expect(problem.type == "about:blank")
        #expect(problem.description == "about:blank")
    }

    @Test(arguments: [
        #"{"type": 5}"#, #"{"title": {}}"#, #"{"status": "403"}"#, #"{"status": 403.5}"#, #"{"detail": false}"#,
        #"{"instance": []}"#, #"{"title": null}"#,
    ])
    func aMemberOfTheWrongTypeIsIgnored(_ json: String) throws { #expect(try decode(json) == ProblemDetails()) }

    @Test(arguments: ["[]", "5", "null", "<p>"])
    func onlyAnObjectIsAProblem(_ json: String) { #expect(throws: (any Error).self) { try decode(json) } }

    @Test(
        arguments: [
            ("null", .null), ("true", .bool(true)), ("0", .integer(0)), ("1", .integer(1)), ("-5", .integer(-5)),
            ("1.5", .number(1.5)), ("9223372036854775807", .integer(.max)), ("1e300", .number(1e300)),
            (#""1""#, .string("1")), ("[]", .array([])), ("{}", .object([:])),
            (#"{"a":[null]}"#, .object(["a": .array([.null])])),
        ] as [(String, JSONValue)])
    func anyJSON(_ json: String, _ value: JSONValue) throws {
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8)) == value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
    }
}
