import FoundationEssentials
import Trellis
import TrellisTesting

/// A cassette of 10,000 recordings in a file.
final class LargeCassette: Sendable {
    private static let count = 10_000

    /// The URL of the last recording, whose body has 11 bytes.
    let lastURL = "http://a.example/\(LargeCassette.count - 1)"
    private let cassette: Cassette

    /// Writes the file.
    init(folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = "\(folder)/large.har"
        cassette = Cassette(path: path, mode: .none)
        let entries = (0..<Self.count).map(Self.entry).joined(separator: ",\n")
        try Data(#"{"log":{"entries":[\#(entries)]}}"#.utf8).write(to: URL(filePath: path))
    }

    /// Runs an operation whose requests have a transport of their own, which opens the file with the first of them.
    func opened(_ operation: () async throws -> Int) async throws -> Int {
        try await withTransport(CassetteTransport(cassette)) { try await operation() }
    }

    private static func entry(_ number: Int) -> String {
        """
        {"startedDateTime": "2026-01-01T00:00:00.000Z", "time": 12,
         "request": {"method": "GET", "url": "http://a.example/\(number)", "httpVersion": "HTTP/1.1", "cookies": [],
          "headers": [{"name": "Accept", "value": "*/*"}], "queryString": [], "headersSize": -1, "bodySize": 0},
         "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [],
          "headers": [{"name": "Content-Type", "value": "text/plain"}],
          "content": {"size": 11, "mimeType": "text/plain", "text": "entry \(90_000 + number)"}, "redirectURL": "",
          "headersSize": -1, "bodySize": 11},
         "cache": {}, "timings": {"send": 0, "wait": 12, "receive": 0}}
        """
    }
}
