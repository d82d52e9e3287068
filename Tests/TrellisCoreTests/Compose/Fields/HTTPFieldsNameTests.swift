import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// Names of header fields that are given as text.
struct HTTPFieldsNameTests {
    /// Texts that are not names of fields, the reserved name among them.
    static let invalid = ["", "X Key", "X-Key:", ":path", "X-Key\r\nHost: b", "Schlüssel", "~trellis-invalid-name"]

    @Test func aNameAsTextIsTheNameItself() throws {
        var request = Request("http://localhost/", headers: [.accept: "a/b"])
        request.headers["X-API-Key"] = "1"
        request.headers["ACCEPT"] = "c/d"
        #expect(request.headers.map { "\($0.name.rawName): \($0.value)" } == ["ACCEPT: c/d", "X-API-Key: 1"])
        #expect(request.headers["x-api-key"] == "1" && request.headers[.accept] == "c/d")
        request.headers["x-api-KEY"] = nil
        #expect(request.headers == [.accept: "c/d"])
        #expect(request.headers["X-API-Key"] == nil)
    }

    @Test func theValuesOfARepeatedNameAreJoined() {
        var fields = HTTPFields([.accept("a/b"), .accept("c/d")])
        #expect(fields["accept"] == "a/b, c/d")
        fields["accept"] = "e/f"
        #expect(fields.count == 1)
    }

    @Test(arguments: invalid)
    func anInvalidNameHasNoValueAndIsRemembered(_ name: String) {
        var fields: HTTPFields = [.accept: "a/b"]
        #expect(fields[name] == nil)
        fields[name] = "secret"
        #expect(fields[name] == nil)
        #expect(fields.invalidName.map { Array($0.utf8) } == Array(name.utf8))
        #expect(!fields.contains { $0.value.contains("secret") })
        #expect(fields.withoutInvalidNames == [.accept: "a/b"])
        fields[name] = nil
        #expect(fields == [.accept: "a/b"] && fields.invalidName == nil)
    }

    @Test func eachInvalidNameIsRememberedOnce() {
        var fields = HTTPFields()
        for name in ["a b", "c d", "a b"] { fields[name] = "1" }
        #expect(fields.count == 2)
        fields["a b"] = nil
        #expect(fields.invalidName == "c d")
    }

    @Test func aFieldByNameReplacesThoseOfTheSameName() {
        let request = Request("http://localhost/", headers: [.accept: "a/b"]).withHeader("accept", "c/d")
        #expect(request.withHeader("X-API-Key", "1").headers["X-API-Key"] == "1")
        #expect(request.headers[.accept] == "c/d" && request.headers.count == 1)
    }

    @Test func aPartOfAFormHasNoInvalidName() async throws {
        var form = MultipartFormData(boundary: "B")
        var fields = HTTPFields()
        fields["X Key"] = "1"
        form.append(.string("x"), withName: "a", headers: fields)
        let whole = form
        let error = try await #require(throws: TrellisError.self) { try await whole.encode() }
        #expect(error.reason == .invalidRequest(.headerField("X Key")))
    }

    @Test func aRequestThatCannotBeSentSharesNoResponse() {
        #expect(CoalescingKey(Request("http://localhost/").withHeader("X-Key", "1")) != nil)
        #expect(CoalescingKey(Request("http://localhost/").withHeader("X Key", "1")) == nil)
    }
}
