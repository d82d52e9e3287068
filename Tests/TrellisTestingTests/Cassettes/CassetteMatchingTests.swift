import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis

@testable import TrellisTesting

/// The recordings that requests find, and what is said if they find none.
@Suite(.timeLimit(.minutes(3)))
struct CassetteMatchingTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    /// Records requests, each answered with its number.
    private func record(_ requests: [Request], _ change: (inout Cassette) -> Void = { _ in }) async throws {
        var cassette = folder.cassette(.once)
        change(&cassette)
        let count = Locked(0)
        let transport = CassetteTransport(
            cassette,
            upstream: MockTransport { _ in
                .text(
                    "\(count.withLock { count in count += 1; return count })")
            })
        for request in requests { _ = try await Session(transport: transport).data(request) }
    }

    /// Returns the answer to a request, or the error.
    private func replay(_ request: Request, _ change: (inout Cassette) -> Void = { _ in }) async -> String {
        var cassette = folder.cassette(.none)
        change(&cassette)
        do {
            // The text without its validation: the types that some requests accept are not that of the response.
            let data = try await Session(transport: CassetteTransport(cassette)).data(request).0
            return String(decoding: data, as: UTF8.self)
        } catch {
            return "\(error)"
        }
    }

    @Test func theMethodAndTheURL() async throws {
        try await record([Request("http://a.example/?a=1"), Request("http://a.example/?a=1", method: .post)])
        let posted = await replay(Request("http://a.example/?a=1", method: .post))
        #expect(posted == "2")
        let other = await replay(Request("HTTP://A.example:80/?a=1#b", headers: [.accept: "x"]))
        #expect(other == "1")
        #expect(await replay(Request("http://a.example/?a=2")).contains("no recording"))
    }

    @Test func withoutTheQuery() async throws {
        try await record([Request("http://a.example/a?b=1")])
        let change = { (cassette: inout Cassette) in cassette.matching.query = false }
        #expect(await replay(Request("http://a.example/a?c=2"), change) == "1")
        #expect(await replay(Request("http://a.example/b?c=2"), change).contains("no recording"))
    }

    @Test func theBody() async throws {
        try await record(["a", "b"].map { Request("http://a.example/", method: .post, body: .string($0)) })
        let change = { (cassette: inout Cassette) in cassette.matching.body = true }
        #expect(await replay(Request("http://a.example/", method: .post, body: .string("b")), change) == "2")
        let error = await replay(Request("http://a.example/", method: .post, body: .string("c")), change)
        #expect(error.contains("body: recorded \"a\", asked \"c\""))
    }

    /// Bytes are not the text that looks like them in a file.
    @Test func aBodyOfBytesIsNotItsBase64() async throws {
        func request(_ body: RequestBody) -> Request { Request("http://a.example/", method: .post, body: body) }
        try await record([request(.data(Data([0xFF])))])
        let change = { (cassette: inout Cassette) in cassette.matching.body = true }
        #expect(await replay(request(.string("/w==")), change) != "1")
        #expect(await replay(request(.data(Data([0xFF]))), change) == "1")
    }

    @Test func fields() async throws {
        try await record(["a/b", "c/d"].map { Request("http://a.example/", headers: [.accept: $0]) })
        let change = { (cassette: inout Cassette) in cassette.matching.headers = ["accept", "X-None"] }
        let second = await replay(Request("http://a.example/", headers: [.accept: "c/d"]), change)
        #expect(second == "2")
        let error = await replay(Request("http://a.example/", headers: [.accept: "e/f"]), change)
        #expect(error.contains("header accept: recorded \"a/b\", asked \"e/f\"") && !error.contains("X-None"))
    }

    // MARK: Scrubbing

    /// A request whose secrets were removed is found again, with other secrets or with the marks in their place.
    @Test(arguments: ["s3cret", "other", "REDACTED"])
    func whatWasScrubbedIsFound(_ secret: String) async throws {
        func request(_ secret: String) -> Request {
            Request(
                "http://ann:\(secret)@a.example/\(secret)?token=\(secret)", method: .post,
                headers: [.authorization: "Bearer \(secret)", .cookie: "a=\(secret)"],
                body: .data(Data(#"{"password":"\#(secret)"}"#.utf8), contentType: "application/json"))
        }
        let change = { (cassette: inout Cassette) in
            cassette.scrubbers += [.text(secret), .text("s3cret")]
            cassette.matching.body = true
            cassette.matching.headers = ["Authorization", "Cookie"]
        }
        try await record([request("s3cret")], change)
        #expect(try !folder.text().contains("s3cret"))
        #expect(await replay(request(secret), change) == "1")
    }

    /// A compressed body is scrubbed and compared as it was before its compression.
    @Test func aCompressedBodyIsFound() async throws {
        func request(_ account: String, _ password: String) -> Request {
            let text = #"{"account":"\#(account)","password":"\#(password)"}"#
            var request = Request(
                "http://a.example/", method: .post, body: .data(Data(text.utf8), contentType: "application/json"))
            request.compression = .gzip
            return request
        }
        func change(_ account: String) -> (inout Cassette) -> Void {
            return { cassette in
                cassette.scrubbers.append(.text(account, replacement: "ACCOUNT"))
                cassette.matching.body = true
            }
        }
        try await record([request("acct-1", "s3cret")], change("acct-1"))
        let entry = try #require(try HARDocument(json: Data(folder.text().utf8)).entries.first)
        #expect(entry.request.postData?.text == #"{"account":"ACCOUNT","password":"REDACTED"}"#)
        #expect(await replay(request("acct-2", "other"), change("acct-2")) == "1")
        #expect(await replay(request("third", "other"), change("acct-2")).contains("no recording"))
    }

    /// A recording that was made with fewer scrubbers is found too.
    @Test func scrubbersMayBeAdded() async throws {
        try await record([Request("http://a.example/?a=1&id=7")])
        let change = { (cassette: inout Cassette) in cassette.scrubbers.append(.queryItem("id")) }
        #expect(await replay(Request("http://a.example/?a=1&id=8"), change) == "1")
        #expect(await replay(Request("http://a.example/?a=2&id=8"), change).contains("no recording"))
    }

    /// The client that records receives the response as it is, and the file has it scrubbed.
    @Test func responsesAreScrubbedInTheFile() async throws {
        var cassette = folder.cassette(.once)
        cassette.scrubbers.append(.json("user.email", replacement: "ann@a.example"))
        let body = #"{"access_token":"s3cret","user":{"email":"secret@b.example"},"expires_in":3600}"#
        let transport = CassetteTransport(
            cassette,
            upstream: MockTransport { _ in
                MockResponse(
                    headers: [.contentType: "application/json", .setCookie: "a=s3cret; Path=/"], body: Data(body.utf8))
            })
        let (data, response) = try await Session(transport: transport).data("http://a.example/")
        #expect(String(decoding: data, as: UTF8.self) == body && response.headers[.setCookie] == "a=s3cret; Path=/")
        let replayed = try await Session(transport: CassetteTransport(folder.cassette(.none))).data("http://a.example/")
        #expect(
            String(decoding: replayed.0, as: UTF8.self)
                == #"{"access_token":"REDACTED","user":{"email":"ann@a.example"},"expires_in":3600}"#)
        #expect(replayed.1.headers[.setCookie] == "a=REDACTED; Path=/")
    }

    // MARK: Messages

    @Test func theNearestRecordingIsShown() async throws {
        try await record(
            ["/users?page=1&sort=name", "/users/7", "/posts?page=1"].map { Request("http://api.example\($0)") }
                + [Request("http://other.example/users?page=2&sort=name")])
        let error = await replay(Request("http://api.example/users?page=2&sort=name&x=y"))
        let wanted = """
            no recording in \(folder.path()) matches GET http://api.example/users?page=2&sort=name&x=y
            nearest: GET http://api.example/users?page=1&sort=name (entry 1)
              query item page: recorded "1", asked "2"
              query item x: not recorded, asked "y"
            record anew with
              TRELLIS_CASSETTES=all swift test --filter CassetteMatchingTests
            """
        #expect(error.contains(wanted), "\(error)")
    }

    @Test(
        arguments: [
            ("GET http://a.example/a/b", "DELETE http://a.example/a/b", "method: recorded \"GET\", asked \"DELETE\""),
            (
                "GET http://a.example/a/b", "GET https://a.example/a/b",
                "origin: recorded \"http://a.example\", asked \"https://a.example\""
            ),
            ("GET http://a.example/a/b", "GET http://a.example/a/c", "path: recorded \"/a/b\", asked \"/a/c\""),
            (
                "GET http://a.example/?a=1&b=2", "GET http://a.example/?b=2&a=1",
                "the items of the query have another order"
            ),
            ("GET http://a.example/?a=1", "GET http://a.example/", "query item a: recorded \"1\", not asked"),
            (
                "GET http://a.example/?a=1&a=2", "GET http://a.example/?a=1&a=3",
                "query item a: recorded \"1\", \"2\", asked \"1\", \"3\""
            ),
        ])
    func theDifferenceIsShown(_ recorded: String, _ asked: String, _ line: String) {
        func request(_ text: String) -> HARDocument.Request {
            let words = text.split(separator: " ").map(String.init)
            var request = HARDocument.Request(method: words[0], url: words[1])
            request.derive()
            return request
        }
        let text = CassetteDifference.nearest(
            to: request(asked), among: [.init(position: 6, request: request(recorded), isUsed: false)],
            CassetteMatching())
        #expect(text == "\(recorded) (entry 7)\n  \(line)")
    }

    @Test func anEmptyCassette() async throws {
        try folder.write(#"{"log":{"entries":[]}}"#)
        #expect(await replay(Request("http://a.example/")).contains("there are no recordings"))
    }

    /// No message has a secret.
    @Test func messagesAreWithoutSecrets() async throws {
        try await record([Request("http://a.example/?token=s3cret&a=1")])
        let error = await replay(Request("http://a.example/?token=s3cret&a=2"))
        #expect(error.contains("token=REDACTED") && !error.contains("s3cret"))
    }
}
