#if Observability
import FoundationEssentials
import HTTPTypes
import InMemoryLogging
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The observation of a single request replaces that of its session.
@Suite(.timeLimit(.minutes(3)))
struct RequestObservationTests {
    private static let url = "https://api.example.com/users/7"

    private static func request(_ observability: Observability) -> Request {
        Request(url).withSteps { $0.observe(with: observability) }
    }

    /// An observation without any part.
    private static var nothing: Observability {
        .with { settings in
            (settings.createsSpans, settings.propagatesContext) = (false, false)
            (settings.metrics, settings.logLevels) = ([], .off)
        }
    }

    @Test func aRequestCanSwitchItsObservationOff() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport, .with { $0.createsCallSpans = true })
        _ = try await backends { try await session.data(Self.request(Self.nothing)) }
        #expect(transport.startedCount == 1)
        #expect(backends.spans.isEmpty && backends.log.entries.isEmpty)
        #expect(backends.metrics.timers.isEmpty && backends.metrics.meters.isEmpty)
        _ = try await backends { try await session.data(Self.url) }
        #expect(backends.spans.map(\.operationName) == ["GET", "trellis.call"])
    }

    @Test(arguments: [true, false])
    func theSpanAroundTheCallIsThatOfTheRequest(isCreated: Bool) async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in .text("x") }, .with { $0.createsCallSpans = true })
        let request = Self.request(.with { $0.createsCallSpans = isCreated })
        _ = try await backends { try await session.data(request) }
        #expect(backends.spans.map(\.operationName) == (isCreated ? ["GET", "trellis.call"] : ["GET"]))
    }

    @Test func aSessionCanHaveNothingButSpansAroundItsCalls() async throws {
        let backends = Backends()
        var settings = Self.nothing
        settings.createsCallSpans = true
        let session = Session.observed(MockTransport { _ in .text("x") }, settings)
        _ = try await backends { try await session.data(Self.url) }
        #expect(backends.spans.map(\.operationName) == ["trellis.call"] && backends.log.entries.isEmpty)
    }

    /// The response of a server of tokens, which an adapter asks, is in the error, and is nothing for a backend of traces.
    @Test func aBodyIsInNoSpan() async throws {
        let backends = Backends()
        let tokens = Session(
            transport: MockTransport { _ in
                MockResponse(status: 401, headers: [.contentType: "text/plain"], body: Data("t0ken of ada".utf8))
            })
        let adapter = Adapter { request, _ in
            let token = try await tokens.decode(String.self, from: "https://auth.example/")
            return request.withHeader(.authorization, token)
        }
        let session = Session.observed(
            MockTransport { _ in .text("x") }, .with { $0.createsCallSpans = true }
        ) { $0.steps.adapters.append(adapter) }
        let error = await #expect(throws: TrellisError.self) {
            try await backends { try await session.data(Self.url).0 }
        }
        #expect(error?.description.contains("t0ken") == true)
        let span = try #require(backends.spans.first)
        #expect(span.operationName == "trellis.call" && span["error.type"] == .string("unacceptable_status"))
        #expect(span.status?.message?.contains("t0ken") == false)
    }
}
#endif
