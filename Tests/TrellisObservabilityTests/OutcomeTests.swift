#if Observability
import MetricsTestKit
import Testing
import Trellis
import TrellisObservability
import TrellisTesting

/// The series of the outcomes of equal requests.
@Suite(.timeLimit(.minutes(3)))
struct OutcomeTests {
    /// More outcomes than are kept with the beginning of a request, each of them twice.
    @Test func eachOutcomeHasASeries() async throws {
        let backends = Backends()
        let statuses = Array(200...215)
        let session = Session.observed(MockTransport(statuses: statuses + statuses))
        for _ in 1...2 * statuses.count {
            _ = try? await backends { try await session.data("https://api.example.com/") }
        }
        let timers = backends.metrics.timers(label: "http.client.request.duration")
        #expect(
            timers.compactMap { $0.dimensions.value(of: "http.response.status_code") }.sorted()
                == statuses.map(String.init))
        #expect(timers.allSatisfy { $0.values.count == 2 })
        #expect(backends.metrics.meters(label: "http.client.active_requests").map(\.lastValue) == [0])
    }

    /// Outcomes with one status differ by their error.
    @Test func theErrorIsPartOfTheOutcome() async throws {
        let backends = Backends()
        let transport = MockTransport { request in
            throw request.path == "/lost"
                ? TransportFailure(.exchangeFailed(.receive("lost")))
                : TransportFailure(.connectionFailed(.unreachable("refused")))
        }
        let session = Session.observed(transport)
        for path in ["lost", "refused", "lost"] {
            _ = try? await backends { try await session.data("https://api.example.com/\(path)") }
        }
        let counts = backends.metrics.timers(label: "http.client.request.duration").map { timer in
            (timer.dimensions.value(of: "error.type") ?? "", timer.values.count)
        }
        #expect(Dictionary(uniqueKeysWithValues: counts) == ["receive": 2, "connect": 1])
    }
}
#endif
