import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// The messages about a document that a browser has saved have none of its secrets.
@Suite(.timeLimit(.minutes(3)))
struct CassetteNameTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    @Test func aRecordingThatIsNotUsedIsNamedWithoutItsSecrets() async throws {
        let entry = """
            {"request": {"method": "GET", "url": "http://ann:pw@a.example/users?token=s3cret&page=1", "httpVersion": "",
              "cookies": [], "headers": [], "queryString": [], "headersSize": -1, "bodySize": 0},
             "response": {"status": 204, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
              "content": {"size": 0, "mimeType": ""}, "redirectURL": "", "headersSize": -1, "bodySize": -1}}
            """
        try folder.write(#"{"log":{"entries":[\#(entry)]}}"#)
        var cassette = folder.cassette(.none)
        cassette.allowsUnused = false
        let transport = CassetteTransport(cassette)
        let names = try await transport.unusedRecordings()
        #expect(names.count == 1)
        #expect(names.first?.hasPrefix("GET http://") == true && names.first?.contains("page=1") == true)
        let problems = try await transport.finish(hasFailed: false).map(\.description)
        #expect(problems.count == 1)
        for text in names + problems { #expect(!text.contains("s3cret") && !text.contains("ann:pw")) }
    }
}
