import HTTPTypes
import Testing
import TrellisCore

/// The functions that create common header fields.
struct HTTPFieldMakersTests {
    @Test(
        arguments: [
            (.accept("a/b"), "Accept: a/b"), (.acceptCharset("utf-8"), "Accept-Charset: utf-8"),
            (.acceptEncoding("br"), "Accept-Encoding: br"), (.acceptLanguage("de"), "Accept-Language: de"),
            (.authorization("Digest x"), "Authorization: Digest x"),
            (
                .authorization(username: "Aladdin", password: "open sesame"),
                "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
            ),
            (.authorization(username: "test", password: "123\u{a3}"), "Authorization: Basic dGVzdDoxMjPCow=="),
            (.authorization(bearerToken: "mF_9.B5f-4.1JqM"), "Authorization: Bearer mF_9.B5f-4.1JqM"),
            (.cacheControl("no-store"), "Cache-Control: no-store"),
            (.contentDisposition("inline"), "Content-Disposition: inline"),
            (.contentEncoding("gzip"), "Content-Encoding: gzip"), (.contentType("a/b"), "Content-Type: a/b"),
            (.ifNoneMatch("\"x\""), "If-None-Match: \"x\""), (.ifMatch("*"), "If-Match: *"),
            (.range(bytes: 5), "Range: bytes=5-"), (.range(bytes: 0, through: 99), "Range: bytes=0-99"),
            (.referer("http://h/"), "Referer: http://h/"), (.userAgent("me/1"), "User-Agent: me/1"),
        ] as [(HTTPField, String)])
    func names(_ field: HTTPField, _ line: String) {
        #expect("\(field.name.rawName): \(field.value)" == line)
    }

    @Test func anyName() {
        #expect(HTTPField.named("X-Trace", "1")?.name.rawName == "X-Trace")
        #expect(HTTPField.named("X Trace", "1") == nil)
        #expect(HTTPField.named("", "1") == nil)
    }
}
