import Foundation
import Testing

/// Queries, forms, JSON and compressed bodies. `/mirror` sends the body back, with its `Content-Type` in another field.
@Suite(.timeLimit(.minutes(60))) struct FormTests {
    @Test func aQueryIsEncoded() async throws {
        let run = try await client([
            "\(url)/request", "--query", "q=a b&c=d", "--query", "größe=1", "--query", "q=", "--query", "x=-y=z",
        ])
        #expect(run.lines.first == "GET /request?q=a%20b%26c%3Dd&gr%C3%B6%C3%9Fe=1&q=&x=-y%3Dz")
    }

    @Test func aQueryGoesOn() async throws {
        let run = try await client(["\(url)/request?a=1#there", "--query", "b=2"])
        #expect(run.lines.first == "GET /request?a=1&b=2")
    }

    @Test func aFormIsEncodedInOrder() async throws {
        let run = try await report(["\(url)/mirror", "--form", "z=1", "--form", "a=x y/z", "--form", "z=&=+"])
        #expect(run.bodyText == "z=1&a=x%20y/z&z=%26%3D%2B")
        #expect(run.field("X-Content-Type") == "application/x-www-form-urlencoded")
    }

    @Test func aFormMakesAPOST() async throws {
        let run = try await client(["\(url)/request", "--form", "a=1"])
        #expect(run.lines.first == "POST /request")
    }

    @Test func aFormWithAMethod() async throws {
        let run = try await client(["\(url)/request", "-X", "QUERY", "--form", "a="])
        #expect(run.lines.first == "QUERY /request")
        #expect(run.lines.last == "body: 2")
    }

    @Test func jsonIsSentAsGiven() async throws {
        let run = try await report(["\(url)/mirror", "--json", #"{"a": "ü"}"#])
        #expect(run.bodyText == #"{"a": "ü"}"#)
        #expect(run.field("X-Content-Type") == "application/json")
    }

    @Test func jsonHasFields() async throws {
        let run = try await client(["\(url)/request", "--json", "-1"])
        #expect(
            run.lines.starting(with: "POST", "Accept:", "Content-Type")
                == ["POST /request", "Accept: application/json, */*;q=0.5", "Content-Type: application/json"])
    }

    @Test func jsonKeepsTheFieldsThatAreGiven() async throws {
        let run = try await client([
            "\(url)/request", "--json", "{}", "-H", "Accept: a/b", "-H", "Content-Type: c/d",
        ])
        #expect(run.lines.starting(with: "Accept:", "Content-Type") == ["Accept: a/b", "Content-Type: c/d"])
    }

    @Test func jsonInAFile() async throws {
        let file = try TemporaryFolder().write("[1, 2]", to: "numbers.json")
        let run = try await report(["\(url)/mirror", "--json", "@\(file)"])
        #expect(run.bodyText == "[1, 2]")
        #expect(run.field("X-Content-Type") == "application/json")
    }

    @Test func jsonOnTheStandardInput() async throws {
        let file = try TemporaryFolder().write("[1, 2]", to: "numbers.json")
        let run = try await client(["\(url)/mirror", "--json", "@-"], input: .file(file))
        #expect(run.text == "[1, 2]")
    }

    @Test func aBodyAFileAndAFormAreCompressed() async throws {
        let file = try TemporaryFolder().write("[1, 2]", to: "numbers.json")
        for (body, wanted) in [
            (["-d", "aaaaaaaaaa"], "aaaaaaaaaa"), (["-d", "@\(file)"], "[1, 2]"), (["--form", "a=b"], "a=b"),
        ] {
            let run = try await report(["\(url)/mirror", "--compress"] + body)
            #expect(run.field("X-Content-Encoding") == "gzip")
            let unzipped = try await tool("gzip", ["-dc"], input: .bytes(run.body ?? Data()))
            #expect(unzipped.text == wanted)
        }
    }

    @Test func noBodyIsNotCompressed() async throws {
        let run = try await report(["\(url)/mirror", "--compress"])
        #expect(run.field("X-Content-Encoding") == nil)
    }

    @Test func aBodyIsNotCompressedTwice() async throws {
        let run = try await report(
            ["\(url)/mirror", "--compress", "-d", "a", "-H", "Content-Encoding: br"], status: 1)
        #expect(run.report["error"]["kind"] == "invalid_request")
    }
}
