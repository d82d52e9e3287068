import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// Names in forms, queries and multipart bodies are distinguished by their bytes.
struct ComposedBytesTests {
    /// Two members whose names are equal to Swift and differ in their bytes.
    private struct Spellings: Encodable {
        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: Key(stringValue: "\u{E9}"))
            try container.encode(2, forKey: Key(stringValue: "e\u{301}"))
        }
    }

    @Test func membersWithEquivalentNamesAreBothSent() throws {
        #expect(try URLEncodedFormEncoder().encode(Spellings()) == "e%CC%81=2&%C3%A9=1")
    }

    @Test func aDefaultItemIsLeftOutForItsOwnNameAlone() throws {
        func url(_ url: String) throws -> String {
            try RequestPreparationTests.prepare(Request(url)) {
                $0.defaultQueryItems = [URLQueryItem(name: "\u{E9}", value: "1")]
            }.url
        }
        #expect(try url("http://a.example/?%C3%A9=2") == "http://a.example/?%C3%A9=2")
        #expect(try url("http://a.example/?e%CC%81=2") == "http://a.example/?e%CC%81=2&%C3%A9=1")
    }

    @Test(arguments: JoiningScalars.all)
    func aReferenceReplacesWhatFollowsTheLastSlash(_ scalar: Unicode.Scalar) {
        let base = URLReference("http://a.example/b/\(scalar)c")
        #expect(URLReference("d").resolved(against: base).text.bytes == "http://a.example/b/d".bytes)
        #expect(MIMETypes(mimeTypes: "", globs: "").type(ofFileNamed: "a.\(scalar)png") == nil)
    }

    /// Redaction changes no other byte of a query, also where a scalar joins a mark.
    @Test(arguments: JoiningScalars.all)
    func redactionChangesNoOtherByte(_ scalar: Unicode.Scalar) {
        let url = "http://a.example/?\(scalar)a=\(scalar)b&\(scalar)c"
        #expect(URLRedaction.redact(url).bytes == url.bytes)
    }

    @Test(arguments: JoiningScalars.all)
    func aFilesFolderIsNotSentAsItsName(_ scalar: Unicode.Scalar) {
        let part = MultipartFormData.Part(.file("/srv/private/\(scalar)a.txt"))
        #expect(part.effectiveFileName?.bytes == "\(scalar)a.txt".bytes)
    }

    @Test(arguments: JoiningScalars.all)
    func namesInADispositionAreEscaped(_ scalar: Unicode.Scalar) throws {
        let part = MultipartFormData.Part(.string("x"), name: "\"\(scalar)\r\n\(scalar)", fileName: "\"\(scalar)")
        let head = try part.head(in: .form)
        #expect(
            head.starts(
                with:
                    "Content-Disposition: form-data; name=\"%22\(scalar)%0D%0A\(scalar)\"; filename=\"%22\(scalar)\"\r\n"
                    .utf8))
    }
}
