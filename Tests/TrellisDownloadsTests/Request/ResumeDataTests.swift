import Foundation
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The encoding and decoding of resume data.
struct ResumeDataTests {
    private static let sample = ResumeData(
        url: "http://a.example/b", path: "/tmp/.b.trellis-part", done: [0..<10, 20..<30], totalBytes: 40,
        validator: .entityTag("\"x\""))

    @Test(arguments: [
        sample,
        ResumeData(url: "u", path: "p", done: [], totalBytes: nil, validator: .lastModified("yesterday")),
        sample.with(done: [0..<10], pending: ResumeData.Pending(boot: "a", written: [0..<40])),
    ])
    func roundTrip(_ data: ResumeData) throws {
        let copy = try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data))
        #expect(copy == data)
    }

    /// Adjacent ranges are joined into one.
    @Test func rangesThatTouchAreOne() throws {
        let json =
            #"{"version":1,"url":"u","path":"p","entityTag":"\"x\"","done":[[0,3],[3,5],[5,8]],"total":8,"synced":true}"#
        #expect(try JSONDecoder().decode(ResumeData.self, from: Data(json.utf8)).done == [0..<8])
    }

    /// Resume data from before the `synced` member is not trusted, unless the file has not been modified since the download
    /// stopped.
    @Test(arguments: [("", []), (#","size":8,"modified":1"#, [0..<8]), (#","synced":true"#, [0..<8])])
    func whatIsNotSaidToBeOnTheDiskIsNotThere(_ more: String, _ done: [Range<Int64>]) throws {
        let json = #"{"version":1,"url":"u","path":"p","entityTag":"\"x\"","done":[[0,8]]\#(more)}"#
        #expect(try JSONDecoder().decode(ResumeData.self, from: Data(json.utf8)).done == done)
    }

    @Test func itKnowsHowMuchThereIs() { #expect(Self.sample.receivedBytes == 20) }

    @Test(arguments: [
        (#"{"version": 2}"#, "it is of version 2, and 1 is known"),
        (#"{"version": 0, "url": "u"}"#, "it is of version 0, and 1 is known"),
        (#"{"version":1,"url":"u","path":"p","entityTag":"\"x\"","done":[[5,3]]}"#, "its ranges are in disorder"),
        (#"{"version":1,"url":"u","path":"p","entityTag":"\"x\"","done":[[-1,3]]}"#, "its ranges are in disorder"),
        (#"{"version":1,"url":"u","path":"p","entityTag":"\"x\"","done":[[0,3],[2,5]]}"#, "its ranges are in disorder"),
        (#"{"version":1,"url":"u","path":"p","entityTag":"\"x\"","done":[[1]]}"#, "its ranges are in disorder"),
        (#"{"version":1,"url":"u","path":"p","entityTag":"\"x\"","done":[[0,9]],"total":8}"#, "it contradicts itself"),
        (#"{"version":1,"url":"u","path":"","entityTag":"\"x\"","done":[]}"#, "it contradicts itself"),
        (#"{"version":1,"url":"u","path":"a\u0000b","entityTag":"\"x\"","done":[]}"#, "it contradicts itself"),
        (#"{"version":1,"url":"u","path":"p","entityTag":"\"x\"\r\nHost: b","done":[]}"#, "it contradicts itself"),
    ])
    func refused(_ json: String, _ reason: String) throws {
        let error = #expect(throws: TrellisError.self) {
            try JSONDecoder().decode(ResumeData.self, from: Data(json.utf8))
        }
        #expect(error?.kind == .resumeData)
        #expect(error?.reason == .downloadFailed(.resumeData(reason)))
    }

    @Test(arguments: ["", "{}", "[]", "nonsense", #"{"version":1}"#, #"{"version":"1"}"#])
    func somethingElse(_ json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ResumeData.self, from: Data(json.utf8)) }
    }

    @Test(arguments: [
        ("http://user:pass@a.example/b?c=d@e#f", "http://a.example/b?c=d@e"), ("http://a.example", "http://a.example"),
        ("http://a.example/b@c", "http://a.example/b@c"), ("/b", "/b"), ("http://u@a.example", "http://a.example"),
    ])
    func urlsAreKeptWithoutUsers(_ url: String, _ name: String) { #expect(ResumeData.name(of: url) == name) }

    /// URLs that look alike stay distinct, as servers distinguish them.
    @Test func urlsThatLookAlikeAreNotTheSame() async {
        let data = ResumeData(
            url: "http://a.example/\u{E9}", path: "/x.trellis-part", done: [0..<10], totalBytes: 20,
            validator: .entityTag("\"a\""))
        let session = Session(transport: ScriptedTransport())
        let error = await #expect(throws: TrellisError.self) {
            try await session.downloadRequest(resuming: data, "http://a.example/e\u{301}", to: .file("/none/x")).value
        }
        #expect(error?.kind == .resumeData)
        let one = Representation(validator: data.validator, total: 20, resource: "http://a.example/\u{E9}")
        let other = Representation(validator: data.validator, total: 20, resource: "http://a.example/e\u{301}")
        #expect(one != other)
    }
}
