import Testing

@testable import TrellisCore

/// The choice of the evaluator for a host.
struct ServerTrustManagerTests {
    private struct Named: ServerTrustEvaluating, Equatable {
        let name: String
        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {}
    }

    private static func manager(_ patterns: [String], all: Bool = true) throws -> ServerTrustManager {
        try ServerTrustManager(
            allHostsMustBeEvaluated: all,
            evaluators: Dictionary(uniqueKeysWithValues: patterns.map { ($0, Named(name: $0)) }))
    }

    @Test(
        arguments: [
            ("example.com", "example.com"), ("EXAMPLE.com", "example.com"), ("www.example.com", "*.example.com"),
            ("a.b.example.com", "**.example.com"), ("x.api.example.com", "*.api.example.com"),
            ("api.example.com", "*.example.com"), ("myexample.com", nil), ("example.org", nil),
            ("10.0.0.1", "10.0.0.1"),
            ("::1", "[::1]"), ("0:0:0:0:0:0:0:1", "[::1]"), ("10.0.0.2", nil),
        ] as [(String, String?)])
    func theMostSpecificPatternApplies(_ host: String, _ pattern: String?) throws {
        let patterns = [
            "**.example.com", "*.example.com", "example.com", "*.api.example.com", "10.0.0.1", "[::1]",
        ]
        // The order of a dictionary differs from run to run.
        for _ in 0..<8 {
            let manager = try Self.manager(patterns.shuffled(), all: false)
            #expect((try manager.serverTrustEvaluator(forHost: host) as? Named)?.name == pattern)
        }
    }

    @Test func everyHostNeedsAnEvaluatorByDefault() throws {
        let manager = try Self.manager(["example.com"])
        #expect(manager.allHostsMustBeEvaluated)
        let error = #expect(throws: TrellisError.self) {
            _ = try manager.serverTrustEvaluator(forHost: "www.example.com")
        }
        #expect(error?.reason == .serverTrust(.noRequiredEvaluator(host: "www.example.com")))
        #expect(error?.kind == .trustRefused && error?.isRetryable == false)
    }

    @Test func oneEvaluatorCanBeForEveryHost() throws {
        let manager = ServerTrustManager(everyHost: DefaultTrustEvaluator())
        #expect(try manager.serverTrustEvaluator(forHost: "anything.example") is DefaultTrustEvaluator)
        #expect(!manager.mayWait)
        #expect(ServerTrustManager(everyHost: Named(name: "")).mayWait)
    }

    @Test(arguments: [["https://example.com"], ["*"], [""], ["a.*.example"], ["example.com", "Example.com."]])
    func patternsThatMeanNothingAreErrors(_ patterns: [String]) {
        let error = #expect(throws: TrellisError.self) { _ = try Self.manager(patterns) }
        #expect(error?.kind == .invalidRequest)
    }
}
