import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// A recording of a browser may have a body where a response has none, such as that of its cache behind the status 304.
@Suite(.timeLimit(.minutes(3)))
struct CassetteBodilessTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    private func entry(_ method: String, _ status: Int) -> String {
        """
        {"request": {"method": "\(method)", "url": "http://a.example/", "httpVersion": "", "cookies": [], "headers": [],
          "queryString": [], "headersSize": -1, "bodySize": 0},
         "response": {"status": \(status), "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
          "content": {"size": 4, "mimeType": "", "text": "abcd"}, "redirectURL": "", "headersSize": -1, "bodySize": -1}}
        """
    }

    @Test(arguments: [("GET", 304, ""), ("GET", 204, ""), ("HEAD", 200, ""), ("GET", 200, "abcd")])
    func aResponseWithoutABodyHasNone(_ method: String, _ status: Int, _ body: String) async throws {
        try folder.write(#"{"log":{"entries":[\#(entry(method, status))]}}"#)
        let session = Session(transport: CassetteTransport(folder.cassette(.none)))
        let request = Request("http://a.example/", method: method == "HEAD" ? .head : .get)
        let (data, response) = try await session.data(request)
        #expect(response.status.code == status)
        #expect(String(decoding: data, as: UTF8.self) == body)
    }
}
