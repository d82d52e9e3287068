import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The preparation of a request: the header lines that a session sends.
struct RequestPreparationTests {
    static func prepare(
        _ request: Request, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> PreparedRequest {
        var configuration = SessionConfiguration()
        configuration.userAgent = nil
        configuration.acceptLanguage = nil
        configuration.decodesContent = false
        change(&configuration)
        return try RequestPreparation(configuration).prepare(request, delivery: .memory, start: .init(nanoseconds: 1))
    }

    /// Returns the header lines that are sent: those of the request, or those of the session where the request has none.
    static func lines(
        _ request: Request, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> [String] {
        var configuration = SessionConfiguration()
        configuration.userAgent = nil
        configuration.acceptLanguage = nil
        configuration.decodesContent = false
        change(&configuration)
        let preparation = RequestPreparation(configuration)
        let prepared = try preparation.prepare(request, delivery: .memory, start: .init(nanoseconds: 1))
        let lines = prepared.wire.headerLines ?? preparation.defaultLines
        return lines.bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Fields

    @Test func theSessionsFieldsComeAfterTheRequests() throws {
        let request = Request("http://localhost/", headers: [.accept: "text/html"])
        let lines = try Self.lines(request) { $0.defaultHeaders = [.acceptLanguage: "de"] }
        #expect(lines == ["Accept: text/html", "Accept-Language: de"])
    }

    @Test func theRequestsFieldWinsOverTheSessionsOfTheSameName() throws {
        let request = Request("http://localhost/", headers: [.acceptLanguage: "fr"])
        let lines = try Self.lines(request) { $0.defaultHeaders = [.acceptLanguage: "de"] }
        #expect(lines == ["Accept-Language: fr"])
    }

    @Test func aRequestWithoutFieldsHasTheSessions() throws {
        let lines = try Self.lines(Request("http://localhost/")) {
            $0.defaultHeaders = [.acceptLanguage: "de"]
            $0.userAgent = "test/1"
        }
        #expect(lines == ["Accept-Language: de", "User-Agent: test/1"])
    }

    /// A transport gets the fields that are sent, which the engine gets as lines.
    @Test func aTransportGetsTheSessionsFieldsAfterTheRequests() throws {
        for own in [[:], [.accept: "text/html"]] as [HTTPFields] {
            let prepared = try Self.prepare(Request("http://localhost/", headers: own)) {
                $0.defaultHeaders = [.acceptLanguage: "de"]
            }
            #expect(prepared.headers.map(\.name) == own.map(\.name) + [.acceptLanguage])
            #expect(prepared.request.headers == prepared.headers)
        }
    }

    /// The credentials of a proxy never reach a server, which would get the field in a tunnel or without a proxy.
    @Test func credentialsForAProxyAreNoFieldOfARequest() throws {
        let fields: HTTPFields = [.proxyAuthorization: "Basic c2VjcmV0"]
        let requests: [(Request, HTTPFields)] = [
            (Request("http://localhost/", headers: fields), [:]), (Request("http://localhost/"), fields),
            (Request("http://localhost/", method: .post, body: .string("x")), fields),
            (Request("http://localhost/", headers: [.accept: "a"]), fields),
        ]
        for (request, defaults) in requests {
            let error = #expect(throws: TrellisError.self) {
                _ = try Self.lines(request) { $0.defaultHeaders = defaults }
            }
            #expect(error?.reason == .invalidRequest(.headerField("Proxy-Authorization")))
            #expect(error?.description.contains("c2VjcmV0") == false)
            #expect(
                error?.description.hasSuffix(
                    "the header field Proxy-Authorization cannot be sent: credentials for a proxy belong into its Proxy, "
                        + "so that no origin gets them") == true)
        }
    }

    @Test func aUserAgentAmongTheFieldsWins() throws {
        let lines = try Self.lines(Request("http://localhost/")) {
            $0.defaultHeaders = [.userAgent: "mine/1"]
            $0.userAgent = "test/1"
        }
        #expect(lines == ["User-Agent: mine/1"])
    }

    @Test func theDefaultUserAgentNamesTrellis() throws {
        let agent = try #require(SessionConfiguration().userAgent)
        #expect(agent.hasSuffix(" Trellis/\(TrellisRuntime.version)"))
    }

    @Test func repeatedFieldsStayRepeatedAndInOrder() throws {
        let name = try #require(HTTPField.Name("X-Many"))
        var fields = HTTPFields()
        for value in ["1", "2", "3"] { fields.append(HTTPField(name: name, value: value)) }
        #expect(
            try Self.lines(Request("http://localhost/", headers: fields)) == [
                "X-Many: 1", "X-Many: 2", "X-Many: 3",
            ])
    }

    @Test(arguments: [nil, "*/*"] as [String?])
    func repeatedDefaultFieldsStayRepeated(_ accept: String?) throws {
        var request = Request("http://localhost/")
        request.headers[.accept] = accept
        let defaults = HTTPFields(["a", "b"].map { HTTPField(name: .from, value: $0) })
        let lines = try Self.lines(request) { $0.defaultHeaders = defaults }
        #expect(lines == (accept.map { ["Accept: \($0)"] } ?? []) + ["From: a", "From: b"])
    }

    @Test func anEmptyValueIsSentAsOne() throws {
        // An empty value is sent for `Name;`; `Name:` would remove the field.
        #expect(try Self.lines(Request("http://localhost/", headers: [.accept: ""])) == ["Accept;"])
    }

    /// A value that is not UTF-8 is sent as its bytes, and one of UTF-8 as well.
    @Test(arguments: [[0x61, 0xE9, 0xFF], Array("aé\u{FFFD}".utf8), Array("plain".utf8), []] as [[UInt8]])
    func theBytesOfAValueAreSent(_ value: [UInt8]) throws {
        for name in [HTTPField.Name.accept, .cookie] {
            var request = Request("http://localhost/")
            request.headers.append(HTTPField(name: name, value: value))
            let prepared = try Self.prepare(request)
            let line = value.isEmpty ? Array("\(name.rawName);".utf8) : Array("\(name.rawName): ".utf8) + value
            #expect(prepared.wire.headerLines?.bytes == line + [0])
        }
    }

    @Test func framingFollowsFromTheBodyAndFramingFieldsAreIgnored() throws {
        let request = Request(
            "http://localhost/", method: .post,
            headers: [.contentLength: "3", .transferEncoding: "chunked", .accept: "*/*"],
            body: .data(Data("hello".utf8)))
        #expect(try Self.lines(request) == ["Accept: */*", "Content-Type:", "Expect:"])
    }

    @Test func codingsAreAskedForUnlessTheRequestDoesSoItself() throws {
        let codings = TrellisRuntime.contentCodings.joined(separator: ", ")
        #expect(
            try Self.lines(Request("http://localhost/")) { $0.decodesContent = true } == ["Accept-Encoding: \(codings)"]
        )
        let own = Request("http://localhost/", headers: [.acceptEncoding: "identity"])
        #expect(try Self.lines(own) { $0.decodesContent = true } == ["Accept-Encoding: identity"])
        var plain = Request("http://localhost/", headers: [.accept: "*/*"])
        plain.decodesContent = false
        #expect(try Self.lines(plain) { $0.decodesContent = true } == ["Accept: */*"])
    }

    /// The default fields of a plain request are those of any other request.
    @Test(arguments: [nil, "*/*"] as [String?])
    func defaultsAboutCodingsAndFramingAreTheSameForEveryRequest(_ accept: String?) throws {
        var request = Request("http://localhost/")
        request.headers[.accept] = accept
        let lines = try Self.lines(request) {
            $0.decodesContent = true
            $0.defaultHeaders = [.acceptEncoding: "identity", .contentLength: "7", .transferEncoding: "chunked"]
        }
        #expect(lines == (accept.map { ["Accept: \($0)"] } ?? []) + ["Accept-Encoding: identity"])
    }

    @Test func aRequestThatDoesNotDecodeDoesNotAskForCodings() throws {
        var request = Request("http://localhost/")
        request.decodesContent = false
        #expect(try Self.lines(request) { $0.decodesContent = true }.isEmpty)
        #expect(try !Self.prepare(request).wire.decodesContent)
    }

    // MARK: Content-Type

    @Test func theBodysTypeIsSentUnlessTheRequestHasOne() throws {
        var request = Request(
            "http://localhost/", method: .post, body: .data(Data("{}".utf8), contentType: "application/json"))
        #expect(try Self.lines(request).contains("Content-Type: application/json"))
        request.headers[.contentType] = "text/json"
        #expect(try Self.lines(request).filter { $0.hasPrefix("Content-Type") } == ["Content-Type: text/json"])
    }

    @Test func theBodysTypeWinsOverTheSessions() throws {
        let change: (inout SessionConfiguration) -> Void = { $0.defaultHeaders = [.contentType: "application/json"] }
        var form = MultipartFormData(boundary: "B")
        form.append("x", withName: "a")
        var request = Request("http://localhost/", method: .post, body: .multipart(form))
        let type = "Content-Type: multipart/form-data; boundary=B"
        #expect(try Self.lines(request, change).filter { $0.hasPrefix("Content-Type") } == [type])
        request.body = .data(Data("{}".utf8))
        #expect(try Self.lines(request, change).contains("Content-Type: application/json"))
        request.headers[.contentType] = "a/b"
        #expect(try Self.lines(request, change).filter { $0.hasPrefix("Content-Type") } == ["Content-Type: a/b"])
    }

    // MARK: User information

    @Test func userInformationBecomesBasicAuthentication() throws {
        let lines = try Self.lines(Request("http://Aladdin:open%20sesame@localhost/"))
        #expect(lines == ["Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
    }

    @Test func userInformationIsNotPartOfTheURLThatIsSent() throws {
        #expect(try Self.prepare(Request("http://ann:secret@localhost/a")).url == "http://localhost/a")
    }

    @Test func anAuthorizationOfTheRequestWinsOverUserInformation() throws {
        let request = Request("http://ann:secret@localhost/", headers: [.authorization: "Bearer x"])
        #expect(try Self.lines(request) == ["Authorization: Bearer x"])
    }

    @Test func aUserWithoutPasswordHasAnEmptyOne() throws {
        #expect(try Self.lines(Request("http://ann@localhost/")) == ["Authorization: Basic YW5uOg=="])
    }

    @Test(
        arguments: [
            (nil, true), (.seconds(10), false), (.seconds(300), false), (.seconds(301), true),
        ] as [(Duration?, Bool)])
    func libcurlsLimitOnConnectingIsLiftedForLongerLimits(_ connect: Duration?, _ isLifted: Bool) throws {
        var request = Request("http://localhost/")
        request.timeouts = Timeouts(connect: connect)
        let prepared = try RequestPreparation(SessionConfiguration())
            .prepare(request, delivery: .memory, start: EngineInstant(nanoseconds: 0))
        #expect(prepared.wire.mayConnectForLong == isLifted)
    }
}
