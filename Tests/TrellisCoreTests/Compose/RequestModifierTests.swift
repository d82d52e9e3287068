import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore

/// The methods that copy a request and change one property.
struct RequestModifierTests {
    private static let plain = Request("http://localhost/a?b=c", headers: [.accept: "text/html", .from: "me"])

    @Test func eachChangesOneThingAndTheOriginalStays() {
        let request = Self.plain.withMethod(.query).withBody(.string("x", contentType: "a/b"))
            .withTimeouts(Timeouts(total: .seconds(5))).withHTTPVersion(.http1Only).withMaximumBodySize(.bytes(7))
            .withContentDecoding(false)
        #expect(request.method == .query && request.method.rawValue == "QUERY")
        #expect(request.body?.contentType == "a/b" && request.body?.text == "x")
        #expect(request.timeouts == Timeouts(total: .seconds(5)))
        #expect(request.httpVersion == .http1Only)
        #expect(request.maximumBodySize == .bytes(7))
        #expect(request.decodesContent == false)
        #expect(request.url == Self.plain.url && request.headers == Self.plain.headers)
        #expect(Self.plain.method == .get && Self.plain.body == nil && Self.plain.timeouts == nil)
    }

    @Test func anyPropertyCanBeSet() {
        #expect(Self.plain.setting(\.url, to: "http://localhost/").url == "http://localhost/")
        #expect(Self.plain.modified { $0.url += "&d" }.url == "http://localhost/a?b=c&d")
    }

    @Test func aFieldTakesThePlaceOfAllOfItsName() {
        var request = Self.plain.addingHeader(.accept, "a/b").addingHeader(HTTPField(name: .accept, value: "c/d"))
        #expect(request.headers[values: .accept] == ["text/html", "a/b", "c/d"])
        request = request.withHeader(.accept, "e/f")
        #expect(request.headers == [.accept: "e/f", .from: "me"])
        #expect(request.withoutHeader(.accept).headers == [.from: "me"])
        #expect(request.withHeader(.accept("x/y")).headers[values: .accept] == ["x/y"])
    }

    @Test func aCookieFieldIsNotDivided() {
        let request = Self.plain.withHeader(.cookie, "a=1; b=2")
        #expect(request.headers[values: .cookie] == ["a=1; b=2"])
        #expect(request.withHeader(.cookie, "c=3; d=4").headers[values: .cookie] == ["c=3; d=4"])
    }

    @Test func fieldsTakeThePlaceOfAllOfTheirNames() {
        var fields: HTTPFields = [.accept: "a/b", .range: "bytes=0-"]
        fields.append(HTTPField(name: .accept, value: "c/d"))
        let request = Self.plain.withHeaders(fields)
        #expect(request.headers.map(\.value) == ["me", "a/b", "bytes=0-", "c/d"])
        let listed = Self.plain.withHeaders([.accept("a/b"), .contentType("c/d")])
        #expect(listed.headers == [.from: "me", .accept: "a/b", .contentType: "c/d"])
    }

    @Test func credentials() {
        let basic = Self.plain.withAuthorization(username: "Aladdin", password: "open sesame")
        #expect(basic.headers[.authorization] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(basic.withAuthorization(bearerToken: "abc").headers[values: .authorization] == ["Bearer abc"])
    }

    @Test(
        arguments: [
            ("http://h/", "http://h/?a=1&a=x%20y"), ("http://h/?", "http://h/?a=1&a=x%20y"),
            ("http://h/?b", "http://h/?b&a=1&a=x%20y"), ("http://h/?b&", "http://h/?b&a=1&a=x%20y"),
            ("http://h/#f?g", "http://h/?a=1&a=x%20y#f?g"), ("http://h?b#f", "http://h?b&a=1&a=x%20y#f"),
            ("", "?a=1&a=x%20y"),
        ])
    func queriesGrow(_ url: String, _ target: String) {
        #expect(Request(url).addingQuery(["a": "1", "a": "x y"]).url == target)
    }

    @Test func queryItems() {
        let items = [
            URLQueryItem(name: "ü&", value: "=#+"), URLQueryItem(name: "flag", value: nil),
            URLQueryItem(name: "empty", value: ""),
        ]
        #expect(Request("http://h/").addingQuery(items).url == "http://h/?%C3%BC%26=%3D%23%2B&flag&empty=")
        #expect(Request("http://h/").addingQuery([]).url == "http://h/")
    }

    @Test func aListOfFieldsAtTheStart() {
        let request = Request("http://h/", headers: [.accept("a/b"), .userAgent("me/1")])
        #expect(request.headers == [.accept: "a/b", .userAgent: "me/1"])
    }
}
