#if Observability
import InMemoryLogging
import Logging
import Testing
import Trellis
import TrellisObservability
import TrellisTesting

/// The lines about circuits, whose hosts are those of URLs.
@Suite(.timeLimit(.minutes(3)))
struct CircuitLogTests {
    @Test(
        arguments: [
            ("https://ada.example:8443/", "ada.example", "8443"), ("https://ada.example/", "ada.example", nil),
            ("http://[::1]:8080/", "::1", "8080"), ("http://[::1]/", "::1", nil),
        ] as [(String, String, String?)])
    func theHostAndThePortAreApart(_ url: String, _ address: String, _ port: String?) async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in MockResponse(status: 500) }) {
            $0.steps.circuitBreaker = CircuitBreaker(minimumRequests: 2)
        }
        for _ in 1...2 { _ = try await backends { try await session.data(url) } }
        let line = try #require(backends.log.entries.first { $0.level == .info })
        #expect(line.message == "Circuit has opened")
        #expect(line["server.address"] == address && line["server.port"] == port)
    }
}
#endif
