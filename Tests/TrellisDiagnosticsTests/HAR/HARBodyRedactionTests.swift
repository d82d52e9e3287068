import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisDiagnostics

/// Secrets in bodies that are multipart, or no text, or compressed.
struct HARBodyRedactionTests {
    private static func request(
        _ body: Data, type: String, coding: String? = nil
    ) throws -> HARDocument.PostData {
        var headers: HTTPFields = [.contentType: type]
        headers[.contentEncoding] = coding
        var request = HARMessages.request(method: .post, url: "http://a.example/", headers: headers, body: body)
        HARRedaction.redact(&request)
        #expect(request.bodySize == body.count)
        return try #require(request.postData)
    }

    private static func gzipped(_ text: String) throws -> Data {
        try #require(ContentEncoder(.gzip)).encode(Data(text.utf8), isLast: true)
    }

    // MARK: Multipart

    private static let formType = "multipart/form-data; boundary=B"

    /// Returns a form of parts, each of which is a head, an empty line and a content.
    private static func form(_ parts: String..., boundary: String = "B", end: String = "--B--\r\n") -> String {
        parts.map { "--\(boundary)\r\n\($0)\r\n" }.joined() + end
    }

    private static func part(_ name: String, _ content: String, _ field: String = "") -> String {
        "Content-Disposition: form-data; name=\"\(name)\"\r\n\(field)\r\n\(content)"
    }

    @Test func theSecretPartsOfAForm() throws {
        let json = "Content-Type: application/json\r\n"
        let body = Self.form(
            Self.part("user", "ann"), Self.part("password", "s3\r\ncret"), Self.part("user[pass]", "s3cret"),
            Self.part("a", #"{"token":"s3cret","b":1}"#, json), Self.part("pwd", ""),
            Self.part("file", "x", "Content-Location: http://a.example/?sig=s3cret\r\n"))
        let expected = Self.form(
            Self.part("user", "ann"), Self.part("password", "REDACTED"), Self.part("user[pass]", "REDACTED"),
            Self.part("a", #"{"token":"REDACTED","b":1}"#, json), Self.part("pwd", ""),
            Self.part("file", "x", "Content-Location: http://a.example/?sig=REDACTED\r\n"))
        for type in [Self.formType, "Multipart/Form-Data; charset=x; Boundary = \"B\""] {
            let data = try Self.request(Data(body.utf8), type: type)
            #expect(data.text == expected && data.encoding == nil && data.comment == nil)
        }
        // A second pass changes nothing.
        #expect(try Self.request(Data(expected.utf8), type: Self.formType).text == expected)
        var response = HARMessages.response(ResponseHead(status: .ok, headers: [.contentType: Self.formType]))
        response.setBody(Data(body.utf8), size: body.utf8.count)
        HARRedaction.redact(&response)
        #expect(response.content.text == expected)
    }

    /// A name is found however it is written; if it cannot be read, all of the field counts.
    @Test(arguments: [
        "content-disposition:form-data;name=password", "Content-Disposition: form-data; name*=UTF-8''pass%77ord",
        "Content-Disposition: form-data;\r\n filename=\"a;b\"; name=\"password\"",
        "Content-Disposition: form-data; name=\"password\\\"",
        "Content-Disposition: form-data; name=user[password]", "Content-Disposition: form-data; name=my password",
        "Content-Disposition: form-data; name = \"pass\"", "Content-Disposition: form-data; name =pass ; filename=a",
        "Content-Disposition: form-data; name=pass filename=a",
        "Content-Disposition: form-data; name=\"user\" name=\"pass\"",
        "Content-Disposition: form-data; name*=UTF-8''pwd", "Content-Disposition: form-data name=pwd",
        "Content-Disposition: form-data; name*0=\"p\"; name*1=\"wd\"", "Content-Disposition: form-data; filename=a",
        "Content-Disposition: form-data; name=\"=?utf-8?B?cHdk?=\"",
    ])
    func theNameOfAPart(_ field: String) throws {
        let data = try Self.request(Data(Self.form("\(field)\r\n\r\ns3cret").utf8), type: Self.formType)
        #expect(data.text == Self.form("\(field)\r\n\r\nREDACTED"))
    }

    @Test(arguments: [
        "Content-Disposition: form-data; name=user[name]; filename=\"a;b\"",
        "Content-Disposition: form-data; name = user", "Content-Disposition: form-data; name=na\u{EF}ve",
        "Content-Disposition: attachment; filename=a",
    ])
    func aPartWithAnotherNameStays(_ field: String) throws {
        let body = Self.form("\(field)\r\n\r\n1")
        #expect(try Self.request(Data(body.utf8), type: Self.formType).text == body)
    }

    /// Base64 is looked into, and what another coding hides is left out.
    @Test func thePartsWithCodings() throws {
        let json = "Content-Type: application/json\r\nContent-Transfer-Encoding: "
        func coded(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
        let secret = coded(#"{"token":"s3cret"}"#)
        let lines = "\(secret.prefix(8))\r\n\(secret.dropFirst(8))"
        let plain = "\(coded("[12"))\r\n\(coded(",3]"))"
        func body(_ first: String, _ other: String) -> String {
            Self.form(
                Self.part("a", first, json + "BASE64\r\n"), Self.part("b", plain, json + "base64\r\n"),
                Self.part("c", "1", "Content-Transfer-Encoding: 8bit\r\n"),
                Self.part("d", other, json + "quoted-printable\r\n"))
        }
        let data = try Self.request(Data(body(lines, #"{"to=\#r\#nken":"s3cret"}"#).utf8), type: Self.formType)
        #expect(data.text == body(coded(#"{"token":"REDACTED"}"#), ""))
        #expect(data.comment == "a part with a coding is left out because it may hold secrets")
    }

    /// A coding that is not what it says, or is cut, or has another one within it, cannot be looked into.
    @Test(arguments: [
        "Content-Transfer-Encoding: base64\r\n", "Content-Transfer-Encoding: x\r\n", "Content-Encoding: gzip\r\n",
        "Content-Encoding: gzip\r\nContent-Transfer-Encoding: base64\r\n",
    ])
    func aPartWhoseCodingsCannotBeRemoved(_ fields: String) throws {
        let field = "Content-Type: application/x-www-form-urlencoded\r\n\(fields)"
        let data = try Self.request(Data(Self.form(Self.part("a", "pwd=1", field)).utf8), type: Self.formType)
        #expect(data.text == Self.form(Self.part("a", "", field)))
    }

    @Test func aFormWithinAForm() throws {
        let type = "Content-Type: multipart/mixed; boundary=C\r\n"
        func body(_ secret: String) -> String {
            Self.form(
                Self.part("a", Self.form(Self.part("token", secret), boundary: "C", end: "--C--"), type))
        }
        #expect(try Self.request(Data(body("s3cret").utf8), type: Self.formType).text == body("REDACTED"))
    }

    /// A form with a file that is no text is in Base64, and its other parts have no secrets either.
    @Test func aFormWithBytes() throws {
        func body(_ secret: String) -> Data {
            let head = "--B\r\n\(Self.part("file", "", "Content-Type: image/png\r\n"))"
            let rest = "\r\n\(Self.form(Self.part("password", secret)))"
            return Data(head.utf8) + Data([0xFF, 0, 0x0A]) + Data(rest.utf8)
        }
        let data = try Self.request(body("s3cret"), type: Self.formType)
        #expect(data.encoding == "base64" && data.text == body("REDACTED").base64EncodedString())
    }

    /// A recorder cuts bodies at its limit.
    @Test func aFormThatIsCut() throws {
        let whole = Self.form(Self.part("a", "1"), Self.part("password", "s3cret"), Self.part("b", "2"))
        for length in 0...whole.utf8.count {
            let data = try Self.request(Data(whole.utf8.prefix(length)), type: Self.formType)
            let text = try #require(data.text)
            #expect(!text.contains("s3c"))
        }
    }

    /// A body that does not have the form of its type may hold anything.
    @Test(arguments: ["multipart/form-data", "multipart/form-data; boundary=C", "multipart/mixed; boundary="])
    func aBodyThatIsNotMultipart(_ type: String) throws {
        let data = try Self.request(Data(Self.form(Self.part("password", "s3cret")).utf8), type: type)
        #expect(data.text?.isEmpty == true)
        #expect(data.comment == "the rest is not multipart, and is left out because it may hold secrets")
    }

    // MARK: Bytes

    @Test(arguments: [
        ("application/x-www-form-urlencoded", "name=\u{E9}&password=s3cret", "name=\u{E9}&password=REDACTED"),
        ("application/json", "{\"name\":\"\u{E9}\",\"pwd\":\"s3cret\"}", "{\"name\":\"\u{E9}\",\"pwd\":\"REDACTED\"}"),
        ("application/json", "{\"pwd\":\"s3cret\"}", "{\"pwd\":\"REDACTED\"}"),
    ])
    func bytesOfLatin1(_ type: String, _ text: String, _ expected: String) throws {
        func bytes(_ text: String) -> Data {
            Data(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        }
        let data = try Self.request(bytes(text), type: type)
        #expect(HARMessages.bytes(of: data.text ?? "", encoding: data.encoding) == bytes(expected))
    }

    /// Bytes that may be anything are not changed.
    @Test func otherBytesStay() throws {
        let bytes = Data([0xFF]) + Data("&key=1".utf8)
        #expect(try Self.request(bytes, type: "image/png").text == bytes.base64EncodedString())
        var response = HARMessages.response(ResponseHead(status: .ok))
        response.setBody(bytes, size: bytes.count)
        HARRedaction.redact(&response)
        #expect(response.content.text == bytes.base64EncodedString())
    }

    // MARK: Codings

    @Test func aBodyThatIsCompressed() throws {
        let data = try Self.request(
            Self.gzipped(#"{"password":"s3cret"}"#), type: "application/json", coding: "identity, X-GZip")
        #expect(data.text == #"{"password":"REDACTED"}"# && data.encoding == nil)
    }

    /// The limit of a recorder is that of the body without its codings.
    @Test func aCompressedBodyThatIsCut() throws {
        let text = String(repeating: "0123456789", count: 50_000)
        let body = try Self.gzipped(text)
        let request = Request(
            "http://a.example/", method: .post, headers: [.contentEncoding: "gzip"], body: .data(body))
        let recorded = HARMessages.request(request, bodyLimit: 100, revealsSecrets: false)
        #expect(recorded.postData?.text == String(text.prefix(100)) && recorded.bodySize == body.count)
        #expect(recorded.postData?.comment == "the first 100 bytes")
    }

    /// A session that does not decode receives the body of a response as it was sent.
    @Test func aResponseThatIsCompressed() throws {
        let text = #"{"password":"s3cret"}"# + String(repeating: " ", count: 10_000)
        let head = ResponseHead(status: .ok, headers: [.contentType: "application/json", .contentEncoding: "gzip"])
        func content(limit: Int) throws -> HARDocument.Content {
            var exchange = HARExchange(
                callID: 1, callStart: Date(timeIntervalSince1970: 0), attempt: 1, request: Request("http://a.example/"),
                queued: 0)
            var body = CapturedBody(Response(head: head, url: "http://a.example/", metrics: Metrics()))
            body.append(try Self.gzipped(text), limit: limit)
            (exchange.head, exchange.body) = (head, body)
            return exchange.entry(bodyLimit: limit, revealsSecrets: false).response.content
        }
        let whole = try content(limit: 100_000)
        #expect(whole.text?.hasPrefix(#"{"password":"REDACTED"}  "#) == true && whole.encoding == nil)
        #expect(whole.size == text.utf8.count && whole.comment == nil)
        let cut = try content(limit: 1_000)
        #expect(cut.text?.hasPrefix(#"{"password":"REDACTED"}  "#) == true && cut.size == -1)
        #expect(cut.comment == "the first 1000 bytes")
    }

    /// A body whose coding cannot be removed may hold anything, and is kept only with its secrets.
    @Test(arguments: ["odd", "gzip"])
    func aBodyThatCannotBeDecoded(_ coding: String) throws {
        let data = try Self.request(Data("password=s3cret".utf8), type: "text/plain", coding: coding)
        #expect(data.text == nil && data.comment == "not recorded, because its codings cannot be removed")
        let request = Request(
            "http://a.example/", method: .post, headers: [.contentEncoding: coding], body: .string("password=s3cret"))
        #expect(HARMessages.request(request, bodyLimit: 100, revealsSecrets: false).postData?.text == nil)
        #expect(HARMessages.request(request, bodyLimit: 100, revealsSecrets: true).postData?.text == "password=s3cret")
    }
}
