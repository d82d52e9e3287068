import Foundation
import FoundationNetworking
import HTTPTypes
import Testing
import Trellis
import TrellisFoundation

/// A response becomes an `HTTPURLResponse` of Foundation.
struct HTTPURLResponseTests {
    private static func response(
        _ fields: [(String, String)] = [], status: Int = 200, url: String = "http://localhost/a%20b?c"
    ) throws -> HTTPURLResponse? {
        let fields = try fields.map { HTTPField(name: try #require(HTTPField.Name($0)), value: $1) }
        let head = ResponseHead(
            status: .init(code: status), headers: HTTPFields(fields), version: .http2)
        return HTTPURLResponse(Response(head: head, url: url))
    }

    @Test(arguments: [200, 204, 404, 599, 999])
    func statusAndURLGoOver(_ status: Int) throws {
        let response = try #require(try Self.response(status: status))
        #expect(response.statusCode == status)
        #expect(response.url?.absoluteString == "http://localhost/a%20b?c")
        #expect(response.allHeaderFields.isEmpty)
    }

    @Test func whatFoundationReadsFromTheFieldsIsThere() throws {
        let response = try #require(
            try Self.response([
                ("content-type", "Text/HTML; charset=UTF-8"), ("content-length", "7"),
                ("content-disposition", "attachment; filename=\"a.html\""),
            ]))
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName == "utf-8")
        #expect(response.expectedContentLength == 7)
        #expect(response.suggestedFilename == "a.html")
    }

    @Test func fieldsThatRepeatANameAreJoinedInTheirOrder() throws {
        let response = try #require(
            try Self.response([("Via", "1.1 a"), ("X-B", ""), ("via", "1.0 b"), ("Allow", "GET"), ("VIA", "c")]))
        #expect(response.value(forHTTPHeaderField: "via") == "1.1 a, 1.0 b, c")
        #expect(response.value(forHTTPHeaderField: "allow") == "GET")
        #expect(response.value(forHTTPHeaderField: "X-B") == "")
        #expect(response.allHeaderFields.count == 3)
    }

    @Test func cookiesAreFoundByFoundation() throws {
        let response = try #require(
            try Self.response([
                ("set-cookie", "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/"), ("set-cookie", "b=2"),
                ("set-cookie", "c=3; HttpOnly"),
            ]))
        let fields = try #require(response.allHeaderFields as? [String: String])
        let cookies = HTTPCookie.cookies(withResponseHeaderFields: fields, for: try #require(response.url))
        #expect(cookies.map { "\($0.name)=\($0.value)" } == ["a=1", "b=2", "c=3"])
        #expect(cookies.map(\.isHTTPOnly) == [false, false, true])
        #expect(cookies.map { $0.expiresDate == nil } == [false, true, true])
    }

    @Test func aURLThatFoundationDoesNotTakeIsNone() throws {
        #expect(try Self.response(url: "") == nil)
    }
}
