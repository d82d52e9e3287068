import FoundationEssentials
import HTTPTypes
import Testing
import Trellis

@testable import TrellisTesting

/// Requests and responses without what scrubbers remove.
struct ScrubberTests {
    private static func request(
        _ url: String = "http://a.example/", headers: HTTPFields = HTTPFields(), body: String? = nil,
        _ scrubber: Scrubber
    ) -> HARDocument.Request {
        var request = HARMessages.request(method: .get, url: url, headers: headers, body: body.map { Data($0.utf8) })
        scrubber.scrub(&request)
        return request
    }

    private static func response(
        headers: HTTPFields = HTTPFields(), body: String, _ scrubber: Scrubber
    ) -> HARDocument.Response {
        var response = HARMessages.response(ResponseHead(status: .ok, headers: headers))
        response.setBody(Data(body.utf8), size: body.utf8.count)
        scrubber.scrub(&response)
        return response
    }

    @Test func fields() {
        let headers: HTTPFields = [.accept: "a", .userAgent: "b"]
        #expect(Self.request(headers: headers, .header("ACCEPT", "x")).headers.map(\.value) == ["REDACTED", "b"])
        #expect(Self.request(headers: headers, .header("accept", replacement: nil)).headers.map(\.value) == ["b"])
        #expect(
            Self.response(headers: headers, body: "", .header("User-Agent", replacement: "c")).headers.map(\.value) == [
                "a", "c",
            ])
    }

    @Test(
        arguments: [
            ("http://a.example/?a=1&b=2#c", "http://a.example/?a=X&b=2#c"),
            ("http://a.example/?%61=1&a=2&b", "http://a.example/?%61=X&a=X&b"),
            ("http://a.example/?a", "http://a.example/?a=X"), ("http://a.example/a=1", "http://a.example/a=1"),
            ("http://a.example/?b=a", "http://a.example/?b=a"), ("http://a.example/?", "http://a.example/"),
        ])
    func items(_ url: String, _ expected: String) {
        #expect(Self.request(url, .queryItem("a", replacement: "X")).url == expected)
    }

    @Test func itemsAreRemoved() {
        #expect(
            Self.request("http://a.example/?a=1&b=2", .queryItem("a", replacement: nil)).url == "http://a.example/?b=2")
        #expect(Self.request("http://a.example/?a=1#c", .queryItem("a", replacement: nil)).url == "http://a.example/#c")
    }

    @Test(
        arguments: [
            ("user.email", #"{"user":{"email":"X","name":"b"},"email":"c"}"#),
            ("*.email", #"{"user":{"email":"X","name":"b"},"email":"c"}"#),
            ("user", #"{"user":{"email":"X","name":"X"},"email":"c"}"#),
            ("email", #"{"user":{"email":"a","name":"b"},"email":"X"}"#),
            ("email.user", #"{"user":{"email":"a","name":"b"},"email":"c"}"#),
        ])
    func json(_ path: String, _ expected: String) {
        let body = #"{"user":{"email":"a","name":"b"},"email":"c"}"#
        let scrubber = Scrubber.json(path, replacement: "X")
        #expect(Self.response(body: body, scrubber).content.text == expected)
        #expect(Self.request(body: body, scrubber).postData?.text == expected)
    }

    /// A value that is decoded as a number or a truth value stays one.
    @Test func jsonOfAllKinds() {
        let body = #"[{"a":1.5,"b":true},{"a":"x\"y","b":null},{"a":[1,"z"]}]"#
        let text = Self.response(body: body, .json("*.a", "*.b", replacement: "\"é\n\\")).content.text
        #expect(text == #"[{"a":0,"b":true},{"a":"\"é\u000a\\","b":null},{"a":[0,"\"é\u000a\\"]}]"#)
    }

    @Test func whatIsNoJSONStays() {
        // A body that is cut off has no secrets in front of the place where it ends.
        for (body, expected) in [
            (#"{"a":"b" oops"#, #"{"a":"REDACTED" oops"#), (#"{"a":"b","c":"d"#, #"{"a":"REDACTED","c":"d"#),
            (#"{"a":"b"#, #"{"a":"REDACTED""#), (#"{"c":1,"a":[1,"b"#, #"{"c":1,"a":[0,"REDACTED""#),
            ("a=1", "a=1"), ("hello", "hello"),
        ] {
            #expect(Self.response(body: body, .json("a")).content.text == expected)
        }
    }

    @Test func aText() {
        let scrubber = Scrubber.text("acct-1", replacement: "ACCOUNT")
        let request = Self.request(
            "http://a.example/acct-1?b=acct-1", headers: [.referer: "http://a.example/acct-12"], body: "acct-1acct-1",
            scrubber)
        #expect(request.url == "http://a.example/ACCOUNT?b=ACCOUNT")
        #expect(request.headers.map(\.value) == ["http://a.example/ACCOUNT2"])
        #expect(request.postData?.text == "ACCOUNTACCOUNT")
        #expect(
            Self.response(headers: [.location: "/acct-1"], body: "<acct-1>", scrubber).headers.map(\.value) == [
                "/ACCOUNT"
            ])
        #expect(Self.response(body: "e\u{301}", .text("e", replacement: "")).content.text == "\u{301}")
        #expect(Self.response(body: "abc", .text("")).content.text == "abc")
    }

    @Test func aClosure() {
        let scrubber = Scrubber(
            request: { $0.headers = [] }, response: { $0.content.text = $0.content.text.map { $0.uppercased() } })
        #expect(Self.request(headers: [.accept: "a"], scrubber).headers == [])
        #expect(Self.response(body: "abc", scrubber).content.text == "ABC")
    }

    /// The properties that follow from others follow from what the scrubbers leave.
    @Test func propertiesFollow() {
        var cassette = Cassette(path: "a.har")
        cassette.scrubbers = [.queryItem("a", replacement: "X"), .header("Cookie", replacement: "c=d")]
        let request = cassette.scrubbed(
            HARMessages.request(method: .get, url: "http://a.example/?a=1", headers: [.cookie: "a=b"], body: nil))
        #expect(request.queryString.map(\.value) == ["X"] && request.cookies.map(\.value) == ["d"])
    }
}
