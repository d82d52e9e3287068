import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisDownloads
@testable import TrellisEvents

/// Received texts are parsed and compared as bytes.
struct ReceivedBytesTests {
    private static let tags = ["\"\u{E9}\"", "\"e\u{301}\""]

    @Test func validatorsAreTheirBytes() {
        #expect(StrongValidator.entityTag(Self.tags[0]) != .entityTag(Self.tags[1]))
        #expect(!StrongValidator.entityTag(Self.tags[0]).fits(partWith: [.eTag: Self.tags[1]]))
        #expect(StrongValidator.entityTag(Self.tags[0]).fits(partWith: [.eTag: Self.tags[0]]))
    }

    @Test func aPartOfAnEquivalentTagIsOfAnotherRepresentation() {
        let known = Representation(validator: .entityTag(Self.tags[0]), total: 100)
        let decision = DownloadRangeRequest.part(from: 40, to: nil, of: known).decision(
            status: 206, fields: [.eTag: Self.tags[1], .contentRange: "bytes 40-99/100"])
        #expect(decision == .askForWhole("another representation"))
        #expect(
            !Representation(validator: nil, total: nil, resource: "http://a.example/\u{E9}").isOfResource(
                "http://a.example/e\u{301}"))
    }

    @Test func aNoteIsOfOneURL() throws {
        let path = FileManager.default.temporaryDirectory.path + "/trellis-\(UInt64.random(in: .min ... .max))"
        let file = try DownloadFile.opened(at: path, [])
        defer { file.discard() }
        let validator = StrongValidator.entityTag("\"a\"")
        #expect(
            file.writeCheckpoint(
                ResumeData(url: "u\u{E9}", path: file.path, done: [], totalBytes: 1, validator: validator),
                isDurable: false))
        #expect(file.found(for: "u\u{E9}") != nil)
        #expect(file.found(for: "ue\u{301}") == nil)
    }

    @Test(arguments: JoiningScalars.all)
    func resumeDataNamesNoSecrets(_ scalar: Unicode.Scalar) {
        #expect(ResumeData.name(of: "http://ann:pw@\(scalar)a.example/b").bytes == "http://\(scalar)a.example/b".bytes)
        #expect(ResumeData.name(of: "http://a.example/b#\(scalar)c") == "http://a.example/b")
        #expect(Representation.resource("http://a.example/b?\(scalar)c") == "http://a.example/b")
    }

    @Test(arguments: JoiningScalars.all)
    func aSuggestedNameHidesNoFileAndHasNoFolder(_ scalar: Unicode.Scalar) {
        #expect(FileName(".\(scalar)bashrc")?.text.utf8.first != UInt8(ascii: "."))
        #expect(
            FileName.suggested(disposition: nil, url: "http://a.example/b/\(scalar)c").text.utf8.contains(
                "c".utf8.first!))
        #expect(
            !FileName.suggested(disposition: nil, url: "http://a.example/b/\(scalar)c").text.utf8.contains(
                UInt8(ascii: "b")))
        #expect(DownloadFile.hiddenName("/a/\(scalar)b").bytes == "\(scalar)b".bytes)
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

    @Test func aTypeEndsAtItsSemicolon() {
        var state = EventSourceState(ReconnectionPolicy())
        #expect(state.judge(status: 200, contentType: "text/event-stream;\u{301}x=1") == .read)
    }
}
