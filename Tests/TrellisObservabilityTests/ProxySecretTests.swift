#if Observability
import FoundationEssentials
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import TestSupport
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The credentials of a proxy are in no line of the log, no span and no metric.
@Suite(.timeLimit(.minutes(3)))
struct ProxySecretTests {
    private static let secrets = ["zelda", "pr0xySecret", "emVsZGE6cHIweHlT"]

    /// The statuses of the proxy's responses; `nil` for a proxy that is gone.
    static let statuses: [Int?] = [200, 403, 407, nil]

    private static func proxy(_ status: Int) throws -> LoopbackServer {
        try LoopbackServer.http { request in
            let isTunnel = request.method == "CONNECT" && status == 200
            let challenges = ["Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""]
            return .init(
                isTunnel ? 503 : status, headers: challenges.map { (name: "Proxy-Authenticate", value: $0) })
        }
    }

    /// Everything that the backends have got, as one text.
    private static func text(of backends: Backends) -> String {
        var text = ""
        dump(backends.log.entries, to: &text)
        for span in backends.spans {
            text += "\(span.operationName) \(span.values) \(span.errors) \(span.events) \(span.status as Any)\n"
        }
        let metrics = backends.metrics
        for timer in metrics.timers { text += "\(timer.label) \(timer.dimensions)\n" }
        for counter in metrics.counters { text += "\(counter.label) \(counter.dimensions)\n" }
        for recorder in metrics.recorders { text += "\(recorder.label) \(recorder.dimensions)\n" }
        for meter in metrics.meters { text += "\(meter.label) \(meter.dimensions)\n" }
        return text
    }

    @Test(arguments: statuses, Proxy.Authentication.allCases)
    func noTextHasASecret(_ status: Int?, _ authentication: Proxy.Authentication) async throws {
        let server = try status.map(Self.proxy)
        let proxy = try Proxy(
            server?.url("") ?? ClosedPort().url(""), username: "zelda", password: "pr0xySecret",
            authentication: authentication)
        let backends = Backends()
        let session = Session.observed(nil, .with { $0.createsCallSpans = true }) {
            $0.proxy = .always(proxy)
            $0.steps.intercept(with: RetryPolicy.once)
        }
        for url in ["http://origin.invalid/a", "https://origin.invalid/a"] {
            _ = try? await backends { try await session.data(url) }
        }
        await session.shutdown()
        let text = Self.text(of: backends)
        #expect(backends.spans.count > 1 && !backends.log.entries.isEmpty)
        #expect(text.contains("origin.invalid") && text.contains("http.client."))
        if let server { #expect(!server.requests.isEmpty) }
        for secret in Self.secrets { #expect(!text.contains(secret), "\(secret): \(text)") }
    }
}
#endif
