import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The encoded bytes of multipart forms.
struct MultipartFormDataTests {
    static func text(_ form: MultipartFormData) async throws -> String {
        String(decoding: try await form.encode(), as: UTF8.self).replacing("\r\n", with: "\n")
    }

    @Test func partsComeInOrderBetweenTheirBoundaries() async throws {
        var form = MultipartFormData(boundary: "B")
        form.append("Ann", withName: "author")
        form.append(Data("{}".utf8), withName: "meta", mimeType: "application/json")
        form.append(Data("GIF".utf8), withName: "picture", fileName: "a.GIF")
        form.append(Data(), withName: "empty", fileName: "nothing")
        let expected = """
            --B
            Content-Disposition: form-data; name="author"

            Ann
            --B
            Content-Disposition: form-data; name="meta"
            Content-Type: application/json

            {}
            --B
            Content-Disposition: form-data; name="picture"; filename="a.GIF"
            Content-Type: image/gif

            GIF
            --B
            Content-Disposition: form-data; name="empty"; filename="nothing"
            Content-Type: application/octet-stream


            --B--

            """
        #expect(try await Self.text(form) == expected)
        #expect(form.contentType == "multipart/form-data; boundary=B")
        #expect(try form.contentLength() == Int64(try await form.encode().count))
    }

    @Test func theBytesOfAFieldsValueAreSent() async throws {
        let field = HTTPField(name: .contentLanguage, value: [0x61, 0xE9, 0xFF] as [UInt8])
        var form = MultipartFormData(boundary: "B")
        form.append(.init(.string("x", contentType: nil), name: "a", headers: HTTPFields([field])))
        let bytes = [UInt8](try await form.encode())
        #expect(bytes.firstRange(of: Array("Content-Language: a".utf8) + [0xE9, 0xFF, 13, 10]) != nil)
    }

    @Test func aFormWithoutPartsIsItsEnd() async throws {
        #expect(try await Self.text(MultipartFormData(boundary: "B")) == "--B--\n")
    }

    @Test func fieldsOfTheUserWin() async throws {
        var form = MultipartFormData(boundary: "B")
        form.append(
            Data("x".utf8), withName: "a", mimeType: "text/plain",
            headers: [.contentType: "text/html", .contentLanguage: "de"])
        form.append(
            .string("y"), withName: "b",
            headers: [.contentDisposition: "form-data; name=\"c\""])
        let expected = """
            --B
            Content-Disposition: form-data; name="a"
            Content-Type: text/html
            Content-Language: de

            x
            --B
            Content-Type: text/plain; charset=utf-8
            Content-Disposition: form-data; name="c"

            y
            --B--

            """
        #expect(try await Self.text(form) == expected)
    }

    @Test func aMixedPartHoldsPartsWithoutNames() async throws {
        var form = MultipartFormData(boundary: "B")
        let files = [
            MultipartFormData.Part(.string("one", contentType: nil), fileName: "1.txt"),
            MultipartFormData.Part(.string("two", contentType: "text/css")),
        ]
        form.append(.multipartMixed(files, boundary: "inner"), withName: "files")
        let expected = """
            --B
            Content-Disposition: form-data; name="files"
            Content-Type: multipart/mixed; boundary=inner

            --inner
            Content-Disposition: attachment; filename="1.txt"
            Content-Type: text/plain

            one
            --inner
            Content-Type: text/css

            two
            --inner--

            --B--

            """
        #expect(try await Self.text(form) == expected)
    }

    // MARK: Names

    @Test(arguments: [
        ("plain", "plain"), ("with space; and=more", "with space; and=more"), ("Grüße \u{1F33F}", "Grüße \u{1F33F}"),
        ("say \"hi\"", "say %22hi%22"), ("back\\slash", "back\\slash"), ("100%", "100%"), ("%22", "%22"),
        ("a\nb", "a%0D%0Ab"), ("a\rb", "a%0D%0Ab"), ("a\r\nb", "a%0D%0Ab"), ("\n\r", "%0D%0A%0D%0A"),
        ("\"\r\nX-Evil: 1\r\n\r\n", "%22%0D%0AX-Evil: 1%0D%0A%0D%0A"),
    ])
    func aNameIsEscapedAsBrowsersDo(_ name: String, _ written: String) async throws {
        #expect(MultipartEscaping.name(name) == written)
        var form = MultipartFormData(boundary: "B")
        form.append("", withName: name)
        #expect(
            try await Self.text(form).split(separator: "\n")[1] == "Content-Disposition: form-data; name=\"\(written)\""
        )
    }

    /// Line breaks in file names are escaped as single characters, not paired as CR LF.
    @Test(arguments: [("a\nb", "a%0Ab"), ("a\rb", "a%0Db"), ("a\r\nb\"", "a%0D%0Ab%22"), ("日本.txt", "日本.txt")])
    func aFileNameIsEscapedAsBrowsersDo(_ name: String, _ written: String) async throws {
        var form = MultipartFormData(boundary: "B")
        form.append(Data(), withName: "f", fileName: name, mimeType: "x/y")
        #expect(try await Self.text(form).contains("; filename=\"\(written)\"\n"))
    }

    // MARK: Boundaries

    @Test func boundariesAreRandom() {
        let boundaries = Set((0..<100).map { _ in MultipartFormData().boundary })
        #expect(boundaries.count == 100)
        #expect(boundaries.allSatisfy { $0.count == 40 && MultipartBoundary.isValid($0) })
    }

    @Test(arguments: [
        ("simple", "simple"), ("with:colon", "\"with:colon\""), ("a(b)c,/=?", "\"a(b)c,/=?\""),
        ("it's_+-.", "it's_+-."),
    ])
    func aBoundaryIsQuotedWhereItIsNoToken(_ boundary: String, _ parameter: String) {
        #expect(MultipartFormData(boundary: boundary).contentType == "multipart/form-data; boundary=\(parameter)")
    }

    @Test(arguments: ["", "a b", "a\r\nb", "a\"b", "ä", String(repeating: "a", count: 71)])
    func aBoundaryThatIsNoneIsRefused(_ boundary: String) async {
        let error = await #expect(throws: TrellisError.self) {
            try await MultipartFormData(boundary: boundary).encode()
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test(arguments: ["B", "B2"])
    func anInnerBoundaryMustNotBeginWithTheOuterOne(_ inner: String) async {
        var form = MultipartFormData(boundary: "B")
        form.append(.multipartMixed([], boundary: inner), withName: "files")
        let error = await #expect(throws: TrellisError.self) { try await form.encode() }
        #expect(error?.kind == .invalidRequest)
    }

    // MARK: Refused forms

    @Test(arguments: ["a/b\r\nX: y", "a/b\n", "a/b\0"])
    func aTypeWithALineBreakIsRefused(_ type: String) async {
        var form = MultipartFormData()
        form.append(Data(), withName: "a", mimeType: type)
        let error = await #expect(throws: TrellisError.self) { try await form.encode() }
        #expect(error?.reason == .invalidRequest(.headerField("Content-Type")))
    }

    @Test func aPartOfAFormHasAName() async {
        var form = MultipartFormData()
        form.append(MultipartFormData.Part(.string("x")))
        let error = await #expect(throws: TrellisError.self) { try await form.encode() }
        #expect(error?.kind == .invalidRequest)
    }
}
