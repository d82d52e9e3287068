import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisDownloads

/// Tags, URLs and names of files are compared as bytes: two spellings of one text differ.
struct ReceivedTextTests {
    @Test func aPartOfAnEquivalentTagIsOfAnotherRepresentation() {
        let known = Representation(validator: .entityTag("\"\u{E9}\""), total: 100)
        let decision = DownloadRangeRequest.part(from: 40, to: nil, of: known).decision(
            status: 206, fields: [.eTag: "\"e\u{301}\"", .contentRange: "bytes 40-99/100"])
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
}
