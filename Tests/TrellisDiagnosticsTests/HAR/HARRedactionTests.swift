import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisDiagnostics

/// Documents without secrets.
struct HARRedactionTests {
    private static func request(
        _ url: String = "http://a.example/", headers: HTTPFields = HTTPFields(), body: String? = nil
    ) -> HARDocument.Request {
        var request = HARMessages.request(
            method: .post, url: url, headers: headers, body: body.map { Data($0.utf8) })
        HARRedaction.redact(&request)
        return request
    }

    private static func response(_ headers: HTTPFields, body: String = "") -> HARDocument.Response {
        var response = HARMessages.response(ResponseHead(status: .ok, headers: headers))
        response.setBody(Data(body.utf8), size: body.utf8.count)
        HARRedaction.redact(&response)
        return response
    }

    @Test func theURLAndItsItems() {
        let request = Self.request("http://ann:s3cret@a.example/b?a=1&token=s3cret&b=x%20y+z#c")
        #expect(request.url == "http://a.example/b?a=1&token=REDACTED&b=x%20y+z")
        #expect(request.queryString.map(\.name) == ["a", "token", "b"])
        #expect(request.queryString.map(\.value) == ["1", "REDACTED", "x y z"])
    }

    @Test func fieldsAndCookies() {
        let request = Self.request(headers: [
            .authorization: "Bearer s3cret", .accept: "a/b", .cookie: "a=s3cret; b=s3cret",
            HTTPField.Name("X-Api-Key") ?? .te: "s3cret",
        ])
        #expect(request.headers.map(\.value) == ["Bearer REDACTED", "a/b", "a=REDACTED; b=REDACTED", "REDACTED"])
        #expect(request.cookies.map(\.name) == ["a", "b"] && request.cookies.allSatisfy { $0.value == "REDACTED" })
    }

    /// A field that no compression table may hold is a secret, whatever its name.
    @Test func markedFields() {
        var field = HTTPField(name: .accept, value: "s3cret")
        field.indexingStrategy = .disallow
        #expect(Self.request(headers: HTTPFields([field])).headers.map(\.value) == ["REDACTED"])
    }

    @Test func theFieldsOfResponses() {
        let response = Self.response([
            .setCookie: "sid=s3cret; Path=/a; Secure; Expires=Wed, 21-Oct-2026 07:28:00 GMT",
            .location: "http://ann:s3cret@a.example/?sig=s3cret",
        ])
        #expect(response.redirectURL == "http://a.example/?sig=REDACTED")
        var cookie = HARDocument.NamedCookie(name: "sid", value: "REDACTED")
        (cookie.path, cookie.secure, cookie.httpOnly) = ("/a", true, false)
        cookie.expires = "2026-10-21T07:28:00.000Z"
        #expect(response.cookies == [cookie])
        #expect(response.headers.first?.value == "sid=REDACTED; Path=/a; Secure; Expires=Wed, 21-Oct-2026 07:28:00 GMT")
    }

    @Test(
        arguments: [
            ("application/x-www-form-urlencoded", "a=1&password=s3cret", "a=1&password=REDACTED"),
            (
                "application/json", #"{"user": "ann", "password": "s3cret"}"#,
                #"{"user": "ann", "password": "REDACTED"}"#
            ),
            ("application/problem+json", #"{"access_token":"s3cret"}"#, #"{"access_token":"REDACTED"}"#),
            ("application/x-ndjson", "{\"api_key\":\"s3cret\"}\n[]\n", "{\"api_key\":\"REDACTED\"}\n[]\n"),
            ("text/plain", #"{"secrets":["s3cret"]}"#, #"{"secrets":["REDACTED"]}"#),
            ("text/plain", "password=s3cret is not looked for here", "password=s3cret is not looked for here"),
            ("text/plain", #"{"a":1,"password":"s3cr"#, #"{"a":1,"password":"REDACTED""#),
            ("text/plain", #"[INFO] "password": none"#, #"[INFO] "password": none"#),
            // The type of a token, and numbers of tokens, are none.
            ("application/json", #"{"token_type":"bearer","tokens":3}"#, #"{"token_type":"bearer","tokens":3}"#),
            // The parts of an error that a program needs.
            ("application/json", #"{"code":"invalid","key":"a"}"#, #"{"code":"invalid","key":"a"}"#),
            ("application/json", #"{"a":1,"password":"s3cr"#, #"{"a":1,"password":"REDACTED""#),
        ])
    func bodies(_ type: String, _ body: String, _ expected: String) {
        let response = Self.response([.contentType: type], body: body)
        #expect(response.content.text == expected)
        #expect(response.content.mimeType == type)
        #expect(Self.request(headers: [.contentType: type], body: body).postData?.text == expected)
    }

    @Test func aBodyWithoutATypeMayBeAForm() {
        #expect(Self.request(body: "a=1&pwd=s3cret").postData?.text == "a=1&pwd=REDACTED")
    }

    @Test func aRemarkTellsThatAPartIsLeftOut() {
        let content = Self.response([.contentType: "application/json"], body: #"{"a":1} oops"#).content
        #expect(content.text == #"{"a":1} "#)
        #expect(content.comment == "the rest is not JSON, and is left out because it may hold secrets")
    }

    @Test func whatIsWithoutSecretsStays() {
        let headers: HTTPFields = [.authorization: "Basic YTpi", .cookie: "a=b", .contentType: "application/json"]
        let once = Self.request("http://a:b@a.example/?key=x&b", headers: headers, body: #"{"jwt":"x"}"#)
        var twice = once
        HARRedaction.redact(&twice)
        #expect(twice == once)
    }

    @Test func theNamesOfSecretsAreBytes() {
        var field = HARDocument.Field(name: "COOKIE", value: "a=b")
        HARRedaction.redact(&field)
        #expect(field.value == "a=\(BodyRedaction.mark)")
    }
}
