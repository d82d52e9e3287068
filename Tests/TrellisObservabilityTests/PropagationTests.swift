#if Observability
import FoundationEssentials
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The context in the fields of requests.
@Suite(.timeLimit(.minutes(3)))
struct PropagationTests {
    private static let (traceField, spanField) = (InMemoryTracer.traceIDKey, InMemoryTracer.spanIDKey)

    @Test func theContextOfTheSpanReachesTheWire() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { _ in .text("x") }
        let session = Session.observed(nil)
        _ = try await backends { try await session.data(server.url("/")) }
        let (span, request) = (try #require(backends.spans.first), try #require(server.requests.first))
        #expect(request[Self.traceField] == span.traceID && request[Self.spanField] == span.spanID)
    }

    /// The receiver of a repeated field would ignore it.
    @Test func aFieldOfTheRequestIsReplaced() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { _ in .text("x") }
        let session = Session.observed(nil)
        let name = try #require(HTTPField.Name(Self.spanField))
        _ = try await backends { try await session.data(server.url("/"), headers: [name: "mine"]) }
        #expect(server.requests.first?.values(of: Self.spanField) == backends.spans.map(\.spanID))
    }

    @Test func eachRequestOfACallHasTheContextOfItsSpan() async throws {
        let backends = Backends()
        let redirect = MockResponse(status: 302, headers: [.location: "/b"])
        let transport = MockTransport(responses: [redirect, .text("there")])
        let session = Session.observed(transport)
        _ = try await backends { try await session.data("https://api.example.com/a") }
        #expect(transport.requests.map { $0[Self.spanField] } == backends.spans.map(\.spanID))
        #expect(Set(backends.spans.map(\.spanID)).count == 2)
    }

    @Test func theContextIsNotAddedIfThatIsOff() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport, .with { $0.propagatesContext = false })
        _ = try await backends { try await session.data("https://api.example.com/") }
        #expect(backends.spans.count == 1 && transport.requests.first?[Self.spanField] == nil)
    }

    /// A redirect leads to a host that gets none.
    @Test func theContextIsAddedForSomeHosts() async throws {
        let backends = Backends()
        let redirect = MockResponse(status: 302, headers: [.location: "https://other.example/b"])
        let transport = MockTransport(responses: [redirect, .text("there")])
        let session = Session.observed(
            transport, .with { $0.propagatesContextToHost = { $0 == "api.example.com" } })
        _ = try await backends { try await session.data("https://api.example.com/a") }
        #expect(transport.requests.map { $0[Self.spanField] } == [backends.spans.first?.spanID, nil])
        #expect(backends.spans.count == 2)
    }

    @Test func theContextOfTheTaskIsAddedWithoutSpans() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport, .with { $0.createsSpans = false })
        _ = try await backends {
            try await backends.tracer.withSpan("work") { _ in try await session.data("https://api.example.com/").0 }
        }
        #expect(backends.spans.map(\.operationName) == ["work"])
        #expect(transport.requests.first?[Self.spanField] == backends.spans.first?.spanID)
    }

    /// A tracer is the caller's code: its fields are not part of what a cache compares, and the cache's own request has them.
    @Test func theContextIsAddedBehindTheCache() async throws {
        let backends = Backends()
        let transport = MockTransport { _ in
            MockResponse(
                headers: [.cacheControl: "max-age=60", .vary: Self.spanField], body: Data("x".utf8))
        }
        let session = Session.observed(transport) { $0.steps.cache = HTTPCache() }
        for _ in 1...2 { _ = try await backends { try await session.data("https://api.example.com/") } }
        #expect(transport.startedCount == 1 && backends.spans.count == 1)
        #expect(transport.requests.first?[Self.spanField] == backends.spans.first?.spanID)
    }
}
#endif
