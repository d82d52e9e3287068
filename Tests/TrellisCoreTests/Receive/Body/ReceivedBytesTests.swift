import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore

/// Received texts are parsed and compared as bytes.
struct ReceivedBytesTests {
    private static let tags = ["\"\u{E9}\"", "\"e\u{301}\""]

    @Test func validatorsAreTheirBytes() {
        #expect(StrongValidator.entityTag(Self.tags[0]) != .entityTag(Self.tags[1]))
        #expect(!StrongValidator.entityTag(Self.tags[0]).fits(partWith: [.eTag: Self.tags[1]]))
        #expect(StrongValidator.entityTag(Self.tags[0]).fits(partWith: [.eTag: Self.tags[0]]))
    }

    @Test(arguments: JoiningScalars.all)
    func aMediaTypeCanBeReadBack(_ scalar: Unicode.Scalar) throws {
        let type = try #require(MediaType("a/b; c=\"d\\\"\(scalar);e=f\""))
        #expect(type["c"]?.bytes == "d\"\(scalar);e=f".bytes)
        let again = try #require(MediaType(type.description))
        #expect(again.parameters.count == 1 && again["c"]?.bytes == type["c"]?.bytes)
    }

    @Test func mediaTypesAreTheirBytes() {
        #expect(MediaType("a/b; c=\"\u{E9}\"") != MediaType("a/b; c=\"e\u{301}\""))
        #expect(MediaType("a/b; c=\"\u{E9}\"") == MediaType("A/B;C=\"\u{E9}\""))
    }

    @Test(arguments: [
        ("multipart/mixed; boundary=\"\u{301}b\"", "\u{301}b"), ("multipart/mixed; boundary=b\u{37E}c", "b\u{37E}c"),
        ("multipart/mixed; boundary=\"b\\\"\u{200D};c\"", "b\"\u{200D};c"),
        ("multipart/mixed;x=\u{301};boundary=b", "b"),
        ("multipart/mixed; x=\"\u{301};boundary=a\"; boundary=b", "b"),
    ])
    func aBoundaryIsItsBytes(_ type: String, _ boundary: String) throws {
        let line = Array("--\(boundary)\r\n".utf8)
        let delimiter = try MultipartDelimiter(contentType: type)
        #expect(delimiter.match(line, at: 0, isComplete: false) == .line(length: line.count, isLast: false))
    }
}
