import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The arguments that a shell hands to curl for a request.
@Suite(.timeLimit(.minutes(3)))
struct CURLDescriptionTests {
    static let url = "http://localhost/"

    private static func arguments(
        _ request: Request, revealingSecrets: Bool = true, _ change: (inout CURLDescriptionOptions) -> Void = { _ in }
    ) async -> [String] {
        var options = CURLDescriptionOptions(revealingSecrets: revealingSecrets)
        change(&options)
        return await Shell.curl(called: request.cURLDescription(options)).arguments
    }

    // MARK: Method and URL

    @Test(
        arguments: [
            (HTTPRequest.Method.get, nil, []), (.head, nil, ["--head"]), (.delete, nil, ["--request", "DELETE"]),
            (.post, nil, ["--header", "Content-Type:", "--data-binary", ""]),
            (.put, nil, ["--request", "PUT", "--header", "Content-Type:", "--data-binary", ""]),
            (.get, "b", ["--request", "GET", "--header", "Content-Type:", "--data-binary", "b"]),
            (.post, "b", ["--header", "Content-Type:", "--data-binary", "b"]),
            (.patch, "b", ["--request", "PATCH", "--header", "Content-Type:", "--data-binary", "b"]),
        ] as [(HTTPRequest.Method, String?, [String])])
    func theMethodIsSaidWhereCurlWouldSendAnother(
        _ method: HTTPRequest.Method, _ body: String?, _ arguments: [String]
    ) async {
        let request = Request(Self.url, method: method, body: body.map { .string($0, contentType: nil) })
        #expect(await Self.arguments(request) == arguments + [Self.url])
    }

    @Test(arguments: [
        ("http://localhost/a b?q=ü#part", ["http://localhost/a%20b?q=%C3%BC"]),
        ("http://localhost/?list[]={1}", ["--globoff", "http://localhost/?list[]={1}"]),
        ("http://bücher.example/ü", ["http://bücher.example/%C3%BC"]), ("-rf", ["--url", "-rf"]),
        ("http://localhost/\n'$(id)", ["http://localhost/%0A'$(id)"]),
    ])
    func theURLIsOneThatCurlTakes(_ url: String, _ arguments: [String]) async {
        #expect(await Self.arguments(Request(url)) == arguments)
    }

    @Test(arguments: JoiningScalars.all)
    func aURLIsEncodedWhateverJoinsItsMarks(_ scalar: Unicode.Scalar) async {
        let encoded = String(scalar).utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
        for (url, shown) in [
            ("http://localhost/\(scalar)a", "http://localhost/\(encoded)a"),
            ("http://localhost?\(scalar)a", "http://localhost?\(encoded)a"),
            ("http://localhost/a#\(scalar)b", "http://localhost/a"),
        ] {
            #expect(await Self.arguments(Request(url)).map(\.bytes) == [shown.bytes])
        }
        #expect(await Self.arguments(Request("-\(scalar)")).first == "--url")
    }

    /// A remark stays one comment, also where its text holds a line end.
    @Test(arguments: ["\n", "\r\n", "\n\u{301}"])
    func aRemarkIsNoCommand(_ end: String) {
        var command = CURLCommand()
        command.remarks = ["x\(end)touch /tmp/x"]
        #expect(!command.text(isMultiline: false).utf8.contains(UInt8(ascii: "\n")))
    }

    // MARK: Fields and options

    @Test func fieldsAreTheRequestsOwnAndThenTheDefaults() async {
        var request = Request(Self.url, headers: [.accept: "text/html", .userAgent: ""])
        request.headers[.contentLength] = "7"
        let arguments = await Self.arguments(request) {
            $0.defaultHeaders = [.userAgent: "x/1", .acceptLanguage: "de, it's"]
        }
        let expected = [
            "--header", "Accept: text/html", "--header", "User-Agent;", "--header", "Accept-Language: de, it's",
            Self.url,
        ]
        #expect(arguments == expected)
    }

    @Test(arguments: [
        (HTTPVersionPolicy.automatic, []), (.http1Only, ["--http1.1"]),
        (.http2, ["--http2"]), (.http2PriorKnowledge, ["--http2-prior-knowledge"]), (.http3Preferred, ["--http3"]),
        (.http3Only, ["--http3-only"]),
    ])
    func theVersionIsAFlag(_ version: HTTPVersionPolicy, _ flags: [String]) async {
        var request = Request(Self.url)
        request.httpVersion = version
        #expect(await Self.arguments(request) == flags + [Self.url])
        #expect(await Self.arguments(Request(Self.url)) { $0.httpVersion = version } == flags + [Self.url])
    }

    @Test func limitsAndDecodingAreShown() async {
        var request = Request(Self.url)
        request.decodesContent = true
        request.timeouts = Timeouts(
            connect: .milliseconds(300), responseHead: .seconds(1), idle: .milliseconds(1500), total: .seconds(20))
        let arguments = await Self.arguments(request) { $0.furtherArguments = ["--unix-socket", "/tmp/a b"] }
        let expected = [
            "--compressed", "--connect-timeout", "0.300", "--speed-limit", "1", "--speed-time", "2", "--max-time",
            "20", "--unix-socket", "/tmp/a b", Self.url,
        ]
        #expect(arguments == expected)
    }

    @Test(
        arguments: [
            (nil, 800, 300, ["--limit-rate", "800"]), ("b", 800, 300, ["--limit-rate", "300"]), ("b", 0, 0, []),
            ("b", 500, 500, ["--limit-rate", "500"]),
        ] as [(String?, Int, Int, [String])])
    func theBandwidthIsShown(_ body: String?, _ download: Int, _ upload: Int, _ expected: [String]) async {
        var request = Request(Self.url, method: .put, body: body.map { .string($0) })
        if download > 0 { request.bandwidth.download = BandwidthLimit(bytesPerSecond: download) }
        let arguments = await Self.arguments(request) {
            if upload > 0 { $0.bandwidth.upload = BandwidthLimit(bytesPerSecond: upload) }
        }
        #expect(arguments.drop { $0 != "--limit-rate" }.prefix(2) == expected[...])
        #expect(request.cURLDescription().contains(" # ") == false)
    }

    @Test func oneRateForBothDirectionsIsARemark() {
        var request = Request(Self.url, method: .put, body: .string("b"))
        request.bandwidth = BandwidthLimits(upload: .init(bytesPerSecond: 1), download: .init(bytesPerSecond: 2))
        #expect(request.cURLDescription().hasSuffix(" # curl limits both directions alike"))
    }

    @Test func theLimitOnTheBodyIsShown() async {
        var request = Request(Self.url)
        request.maximumBodySize = .bytes(7)
        #expect(await Self.arguments(request) == ["--max-filesize", "7", Self.url])
        request.maximumBodySize = .bytes(0)
        #expect(request.cURLDescription() == "curl http://localhost/ # curl cannot refuse every body")
        request.maximumBodySize = .unlimited
        #expect(await Self.arguments(request) == [Self.url])
    }

    @Test func theWaitForTheServersWordIsShown() async {
        var request = Request(Self.url, method: .put, body: .string("b", contentType: nil))
        request.expectContinueTimeout = .milliseconds(300)
        let expected = [
            "--header", "Expect: 100-continue", "--header", "Content-Type:", "--expect100-timeout", "0.300",
        ]
        #expect(await Self.arguments(request).dropFirst(2).prefix(6) == expected[...])
        request.body = nil
        #expect(!request.cURLDescription().contains("xpect"))
    }

    @Test func remarksAreComments() {
        var options = CURLDescriptionOptions()
        options.furtherRemarks = ["one", "two"]
        #expect(Request(Self.url).cURLDescription(options) == "curl http://localhost/ # one; two")
    }

    @Test func theBodysTypeWinsOverTheDefaults() async {
        var form = MultipartFormData(boundary: "B")
        form.append("x", withName: "a")
        let rows: [(RequestBody, String?)] = [
            (.multipart(form), nil), (.string("x"), "text/plain; charset=utf-8"),
            (.data(Data([65])), "application/json"),
        ]
        for (body, type) in rows {
            let request = Request(Self.url, method: .post, body: body)
            let arguments = await Self.arguments(request) { $0.defaultHeaders = [.contentType: "application/json"] }
            #expect(arguments.filter { $0.hasPrefix("Content-Type") } == (type.map { ["Content-Type: \($0)"] } ?? []))
        }
    }

    @Test func aLimitMayBeOfAnyLength() {
        var request = Request(Self.url)
        let longest = Duration.seconds(Int64.max)
        request.timeouts = Timeouts(connect: .milliseconds(1500), idle: longest, total: longest)
        let text = request.cURLDescription()
        #expect(text.contains("--connect-timeout 1.500 ") && text.contains("--max-time \(Int64.max) "))
        #expect(text.contains("--speed-time \(Int64.max) "))
    }

    @Test func itCanHaveManyLines() async {
        let request = Request(Self.url, method: .put, body: .string("a\nb"))
        let text = request.cURLDescription(.init(revealingSecrets: false, isMultiline: true))
        #expect(text.hasPrefix("curl \\\n    --request PUT \\\n    --header "))
        #expect(await Shell.curl(called: text).arguments == (await Self.arguments(request)))
    }

    @Test func aSessionFillsInItsDefaults() async throws {
        var configuration = SessionConfiguration()
        configuration.userAgent = "x/1"
        configuration.timeouts = Timeouts(connect: nil, responseHead: nil, idle: nil, total: .seconds(9))
        configuration.route = try .unixSocket("/run/x")
        let text = try Session(configuration: configuration).cURLDescription(of: Self.url)
        #expect(
            text == "curl --header 'User-Agent: x/1' --compressed --max-time 9 --unix-socket /run/x http://localhost/")
    }

    // MARK: Secrets

    @Test(arguments: [
        (HTTPField.Name.authorization, "Bearer abc", "Bearer REDACTED"), (.authorization, "abc", "REDACTED"),
        // A token without a scheme.
        (.authorization, "a1b2c3d4 v2", "REDACTED"), (.authorization, "abc.def v2", "REDACTED"),
        (.authorization, "AWS4-HMAC-SHA256 Credential=a", "AWS4-HMAC-SHA256 REDACTED"),
        (.proxyAuthorization, "Basic abc", "Basic REDACTED"), (.cookie, "a=b; c=d", "REDACTED"),
        (.accept, "abc", "abc"),
    ])
    func secretFieldsAreLeftOut(_ name: HTTPField.Name, _ value: String, _ shown: String) async {
        let request = Request(Self.url, headers: [name: value])
        #expect(await Self.arguments(request, revealingSecrets: false)[1] == "\(name.rawName): \(shown)")
        #expect(await Self.arguments(request)[1] == "\(name.rawName): \(value)")
    }

    @Test(arguments: ["X-Api-Key", "x-auth-token", "X-Amz-Security-Token", "Client-Secret", "X-Authorization"])
    func customSecretFieldsAreLeftOut(_ name: String) async throws {
        let request = Request(Self.url, headers: [try #require(HTTPField.Name(name)): "hush"])
        #expect(request.cURLDescription().contains("REDACTED"))
        #expect(!request.cURLDescription().contains("hush"))
    }

    @Test func secretsInTheURLAreLeftOut() async {
        let request = Request("http://ann:hush@localhost/?token=hush&a=b")
        let arguments = await Self.arguments(request, revealingSecrets: false)
        #expect(arguments == ["--header", "Authorization: Basic REDACTED", "http://localhost/?token=REDACTED&a=b"])
        #expect(await Self.arguments(request) == ["http://ann:hush@localhost/?token=hush&a=b"])
    }

    @Test func secretsInFormsAreLeftOut() {
        var form = MultipartFormData()
        form.append("hush", withName: "password")
        form.append(.multipartMixed([.init(.string("hush"), name: "token")]), withName: "more")
        form.append(Data([0xFF]), withName: "binary")
        let bodies: [RequestBody] = [
            .string("a=b&password=hush&pass%77ord=hush", contentType: "application/x-www-form-urlencoded"),
            .multipart(form),
        ]
        for body in bodies {
            let text = Request(Self.url, method: .post, body: body).cURLDescription()
            #expect(text.contains("REDACTED"))
            #expect(!text.contains("hush"))
        }
    }

    /// A part may have a name and codings in fields of its own, and its name may be that of several parts.
    @Test func secretsInPartsWithFieldsOfTheirOwnAreLeftOut() throws {
        let coding = try #require(HTTPField.Name("Content-Transfer-Encoding"))
        let coded = Data(#"{"token":"hush"}"#.utf8).base64EncodedString()
        var form = MultipartFormData()
        form.append(.multipartMixed([.init(.string("hush"), name: "a")]), withName: "password")
        form.append(Data("hush".utf8), withName: "b", headers: [.contentDisposition: "form-data; name = pwd"])
        form.append(Data(coded.utf8), withName: "c", mimeType: "application/json", headers: [coding: "base64"])
        form.append(Data("hush".utf8), withName: "d", headers: [coding: "x-own"])
        let text = Request(Self.url, method: .post, body: .multipart(form)).cURLDescription()
        #expect(!text.contains("hush") && !text.contains(coded), "\(text)")
        #expect(text.contains(" # of the body, a part with a coding is left out"), "\(text)")
    }

    /// A body that the caller has coded may hold anything.
    @Test func aBodyWithACodingIsNotShown() {
        var request = Request(Self.url, method: .post, headers: [.contentEncoding: "gzip"], body: .string("hush"))
        let text = request.cURLDescription()
        #expect(text.hasSuffix(" # the body, 4 bytes, is not shown") && !text.contains("hush"), "\(text)")
        #expect(request.cURLDescription(.init(revealingSecrets: true)).contains("hush"))
        request.headers[.contentEncoding] = "identity"
        #expect(request.cURLDescription().contains("hush"))
    }

    /// The secrets of JSON are those that a HAR document leaves out, whatever the type of the body.
    @Test(arguments: ["application/json", "application/problem+json", "text/plain", nil])
    func secretsInJSONAreLeftOut(_ type: String?) {
        let body = RequestBody.string(#"{"user":"ann","password":"hush"}"#, contentType: type)
        var form = MultipartFormData()
        form.append(body, withName: "value")
        for body in [body, .multipart(form)] {
            let request = Request(Self.url, method: .post, body: body)
            let text = request.cURLDescription()
            #expect(text.contains("REDACTED") && text.contains("ann") && !text.contains("hush"), "\(text)")
            #expect(request.cURLDescription(.init(revealingSecrets: true)).contains("hush"))
        }
    }

    @Test func aBodyThatIsCutBecauseOfItsSecretsHasARemark() {
        let body = RequestBody.string(#"{"a":1,"password":"hu"#, contentType: "application/json")
        let text = Request(Self.url, method: .post, body: body).cURLDescription()
        #expect(text.contains(" # of the body, the rest is not JSON") && !text.contains("hu\""), "\(text)")
    }

    @Test func secretsInURLsOfFieldsAreLeftOut() {
        let request = Request(Self.url, headers: [.referer: "http://ann:hush@localhost/?token=hush&a=b"])
        let text = request.cURLDescription()
        #expect(text.contains("Referer: http://localhost/?token=REDACTED&a=b") && !text.contains("hush"))
    }

    /// A form is recognised by the type of the session too, and also if its bytes are not UTF-8.
    @Test func secretsInFormsOfBytesAreLeftOut() {
        var options = CURLDescriptionOptions()
        options.defaultHeaders = [.contentType: "application/x-www-form-urlencoded"]
        let body = Data([UInt8]("password=hush&a=".utf8) + [0xFF])
        let text = Request(Self.url, method: .post, body: .data(body)).cURLDescription(options)
        #expect(text.contains("password=REDACTED&a=\\377") && !text.contains("hush"))
    }

    @Test func aFieldWhoseNameIsInvalidIsLeftOutAndSaid() {
        var request = Request("http://localhost/", headers: [.accept: "a/b"])
        request.headers["X-Key\nrm -rf"] = "1"
        var options = CURLDescriptionOptions(revealingSecrets: true)
        options.defaultHeaders["Y Key"] = "1"
        let command = request.cURLDescription(options)
        #expect(command.hasPrefix("curl --header 'Accept: a/b' http://localhost/ # a field whose name is invalid"))
        #expect(!command.contains("trellis") && !command.contains("rm"))
    }

    @Test func thePartOfAFormHasNoFieldWhoseNameIsInvalid() {
        var form = MultipartFormData(boundary: "B")
        var fields = HTTPFields()
        fields["X Key"] = "1"
        form.append(.string("x"), withName: "a", headers: fields)
        let request = Request(Self.url, method: .post, body: .multipart(form))
        #expect(!request.cURLDescription().contains("invalid-name"))
    }
}
