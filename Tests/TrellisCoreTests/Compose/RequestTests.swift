import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore

/// The value semantics of requests.
struct RequestTests {
    private struct Endpoint: RequestConvertible {
        func asRequest() throws -> Request { Request("http://localhost/endpoint", method: .delete) }
    }

    private struct Unmakeable: Error {}

    private struct BadURL: URLConvertible {
        func asURL() throws -> URL { throw Unmakeable() }
    }

    @Test func aTextIsAGet() throws {
        let request = try "http://localhost/a b".asRequest()
        #expect(request.method == .get)
        #expect(request.url == "http://localhost/a b")
        #expect(request.headers.isEmpty)
    }

    @Test func aURLIsAGet() throws {
        let url = try #require(URL(string: "http://localhost/a?b=c"))
        #expect(try url.asRequest().url == "http://localhost/a?b=c")
    }

    @Test func anythingCanDescribeARequest() throws {
        #expect(try Endpoint().asRequest().method == .delete)
    }

    @Test func aURLThatCannotBeMadeIsAnErrorWhenTheRequestIsUsed() {
        let request = Request(BadURL())
        #expect(throws: Unmakeable.self) { try request.asRequest() }
        #expect(throws: Unmakeable.self) { try BadURL().asRequest() }
    }

    @Test func theDescriptionHasNoSecrets() {
        let request = Request(
            "https://ann:s3cret@localhost/a?token=s3cret&b=c", method: .put, headers: [.authorization: "Bearer s3cret"],
            body: .string("s3cret"))
        #expect("\(request)" == "Request(PUT https://localhost/a?token=REDACTED&b=c)")
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!dumped.contains("s3cret") && !"\(String(reflecting: request))".contains("s3cret"))
    }

    @Test func theDescriptionOfLimitsHasThoseThatAreSet() {
        #expect("\(Timeouts())" == "Timeouts()")
        let some = Timeouts(connect: .milliseconds(500), total: nil)
        #expect("\(some)" == "Timeouts(connect: 500 ms, total: none)")
    }

    @Test func aTextBodyIsUTF8WithItsType() {
        let body = RequestBody.string("grün")
        #expect(body.contentType == "text/plain; charset=utf-8")
    }
}
