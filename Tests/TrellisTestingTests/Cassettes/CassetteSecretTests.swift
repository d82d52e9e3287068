import Foundation
import HTTPTypes
import Testing
import Trellis

@testable import TrellisTesting

/// Secrets outside the head and the body of a response are not written.
@Suite(.timeLimit(.minutes(3)))
struct CassetteSecretTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    private static let url = "http://a.example/"

    /// Records one request with the scrubbers of a cassette, and returns the file.
    private func recorded(
        _ scrubbers: [Scrubber] = [], _ handler: @escaping MockTransport.Handler
    ) async throws -> (text: String, entry: HARDocument.Entry) {
        var cassette = folder.cassette(.once)
        cassette.scrubbers += scrubbers
        let transport = CassetteTransport(cassette, upstream: MockTransport(handler))
        _ = try? await Session(transport: transport).data(Self.url)
        try await transport.finish()
        let text = try folder.text()
        return (text, try #require(try HARDocument(json: Data(text.utf8)).entries.first))
    }

    @Test func informationalHeadsAndTrailersAreScrubbed() async throws {
        var marked = HTTPField(name: try #require(HTTPField.Name("X-Odd")), value: "h1dden")
        marked.indexingStrategy = .disallow
        let fields = HTTPFields([
            HTTPField(name: .setCookie, value: "id=h1dden; Path=/"), marked,
            HTTPField(name: .location, value: "/a?token=h1dden"), HTTPField(name: .eTag, value: "of account-7"),
            HTTPField(name: .server, value: "tenant"),
        ])
        let scrubbers: [Scrubber] = [.text("account-7", replacement: "ACCOUNT"), .header("Server")]
        let (text, entry) = try await recorded(scrubbers) { _ in
            var response = MockResponse.text("hello")
            response.informational = [ResponseHead(status: .earlyHints, headers: fields)]
            response.trailers = fields
            return response
        }
        #expect(!text.contains("h1dden") && !text.contains("account-7") && !text.contains("tenant"))
        let replay = try #require(entry.replay)
        let informational = try #require(replay.informational?.first), trailers = try #require(replay.trailers)
        #expect(informational.status == 103)
        for found in [informational.headers, trailers] {
            #expect(found.map(\.name) == ["Set-Cookie", "X-Odd", "Location", "ETag", "Server"])
            #expect(found.dropFirst(3).map(\.value) == ["of ACCOUNT", "REDACTED"])
            #expect(found[1].value == "REDACTED" && found[2].value == "/a?token=REDACTED")
        }
    }

    @Test func theWordsOfAFailureAreScrubbed() async throws {
        let (text, entry) = try await recorded([.text("account-7", replacement: "ACCOUNT")]) { _ in
            throw TransportFailure(.exchangeFailed(.receive("no more of account-7")))
        }
        #expect(!text.contains("account-7"))
        #expect(entry.replay?.failure?.reason == "no more of ACCOUNT")
        #expect(entry.response.error?.contains("no more of ACCOUNT") == true)
    }

    /// The words of a failure that have nothing to be removed stay as they are.
    @Test(arguments: ["a=b&c", "{\"a\":", "[1]", "x\u{0}y", ""])
    func otherWordsOfAFailureStay(_ words: String) {
        #expect(folder.cassette(.once).scrubbed(words) == words)
    }

    /// A scrubber that removes all bodies leaves no words.
    @Test func wordsThatAScrubberRemovesAreMarked() {
        var cassette = folder.cassette(.once)
        cassette.scrubbers.append(Scrubber(response: { $0.content.text = nil }))
        #expect(cassette.scrubbed("why") == "REDACTED")
    }
}
