import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// Request bodies that encode `Encodable` values.
struct EncodableBodyTests {
    private struct User: Codable, Equatable, Sendable {
        var firstName = "Ann", age = 7
    }

    private static func bytes(_ body: RequestBody?) throws -> Data {
        guard case .data(let data)? = body?.source else { throw CancellationError() }
        return data
    }

    @Test func json() throws {
        let request = Request("http://localhost/", method: .post, body: try .json(User()))
        #expect(request.body?.contentType == "application/json")
        #expect(try JSONDecoder().decode(User.self, from: Self.bytes(request.body)) == User())
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = .sortedKeys
        let own = try RequestBody.json(User(), encoder: encoder)
        #expect(String(decoding: try Self.bytes(own), as: UTF8.self) == #"{"age":7,"first_name":"Ann"}"#)
    }

    @Test func forms() throws {
        let body = try RequestBody.form(User())
        #expect(body.contentType == "application/x-www-form-urlencoded; charset=utf-8")
        #expect(String(decoding: try Self.bytes(body), as: UTF8.self) == "age=7&firstName=Ann")
        let own = try RequestBody.form(User(), encoder: URLEncodedFormEncoder(keyEncoding: .uppercased))
        #expect(String(decoding: try Self.bytes(own), as: UTF8.self) == "AGE=7&FIRSTNAME=Ann")
    }

    @Test func propertyLists() throws {
        let body = try RequestBody.propertyList(User())
        #expect(body.contentType == "application/x-plist")
        #expect(try Self.bytes(body).starts(with: Data("<?xml".utf8)))
        #expect(try PropertyListDecoder().decode(User.self, from: Self.bytes(body)) == User())
        let binary = try RequestBody.propertyList(User(), encoder: PropertyListEncoder())
        #expect(try Self.bytes(binary).starts(with: Data("bplist00".utf8)))
    }

    @Test func aValueThatCannotBeEncodedIsAnError() throws {
        struct Refusal: Error {}
        struct Refusing: Encodable { func encode(to encoder: any Encoder) throws { throw Refusal() } }
        let bodies: [() throws -> RequestBody] = [
            { try .json(Refusing()) }, { try .form(Refusing()) }, { try .propertyList(Refusing()) },
        ]
        for body in bodies {
            let error = try #require(throws: TrellisError.self) { _ = try body() }
            #expect(error.kind == .invalidRequest && error.underlying != nil)
        }
    }
}

/// Forms of names and values, whose order a server may read.
struct FormItemsTests {
    @Test func orderAndRepeatedNamesAreKept() {
        let body = RequestBody.form(["b": "1", "a": "x y&", "b": "2", "\u{E9}": ""])
        #expect(body.data == Data("b=1&a=x%20y%26&b=2&%C3%A9=".utf8))
        #expect(body.contentType == "application/x-www-form-urlencoded; charset=utf-8")
        #expect(RequestBody.form([:]).data == Data())
    }

    /// Without an annotation, other values are those of the encoder.
    @Test func otherValuesAreEncoded() throws {
        #expect(try RequestBody.form(["b": 1, "a": 2]).data == Data("a=2&b=1".utf8))
        let items = ["b": "1", "a": "2"]
        #expect(try RequestBody.form(items).data == Data("a=2&b=1".utf8))
    }
}
