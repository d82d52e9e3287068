import Foundation
import Testing

/// The names with which the tests of `TrellisObservability` compare are those of OpenTelemetry's package for Python.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct ConventionPackageTests {
    /// The names that the package has for HTTP clients.
    private struct Names: Decodable {
        let attributes: Set<String>
        let metrics: Set<String>
    }

    /// Returns the names in a list of the tests.
    private static func list(_ name: String, in code: String) -> Set<String> {
        guard let beginning = code.firstRange(of: "static let \(name): Set<String> = [") else { return [] }
        let text = code[beginning.upperBound...].prefix { $0 != "]" }
        return Set(text.matches(of: #/"([^"]+)"/#).map { String($0.output.1) })
    }

    @Test func theListsOfTheTestsAreThoseOfThePackage() async throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let file = tests.appending(path: "TrellisObservabilityTests/ConventionNamesTests.swift")
        let code = try String(contentsOf: file, encoding: .utf8)
        let line = try await Peer.output(of: "conventions.py", [])
        let published = try JSONDecoder().decode(Names.self, from: Data(line.utf8))
        let attributes = Self.list("attributes", in: code)
        #expect(attributes.count > 20 && attributes.subtracting(published.attributes) == [])
        #expect(Self.list("metrics", in: code) == published.metrics)
    }
}
