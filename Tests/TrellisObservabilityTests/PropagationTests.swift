#if Observability
import CurlEngine
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

    /// Returns the fields of each request by their names, `-` for none: of a call that is redirected from one host to another and back, and
    /// whose last request is sent twice.
    private static func fields(
        _ headers: HTTPFields = [:], _ change: (inout Observability) throws -> Void
    ) async throws -> [String] {
        let statuses = Locked([302, 302, 503, 200])
        let transport = MockTransport { request in
            let status = statuses.withLock { $0.removeFirst() }
            let target = request.url == "https://a.near.example/" ? "https://far.example/" : "https://b.near.example/"
            return MockResponse(status: status, headers: status == 302 ? [.location: target] : [:])
        }
        var observability = Observability()
        try change(&observability)
        let session = Session.observed(transport, observability) { $0.steps.intercept(with: RetryPolicy.once) }
        try await W3CTracer.within("user=7") {
            _ = try await session.data("https://a.near.example/", headers: headers)
        }
        return transport.requests.map { request in
            let trace = request["traceparent"] == W3CTracer.child ? "trace" : "-"
            return "\(request.url.dropFirst(8).dropLast()) \(trace) \(request["baggage"] ?? "-")"
        }
    }

    @Test func byDefaultBaggageGoesNowhere() async throws {
        let expected = ["a.near.example", "far.example", "b.near.example", "b.near.example"].map { "\($0) trace -" }
        #expect(try await Self.fields { _ in } == expected)
    }

    /// Nothing is left of an earlier host's fields, and a later host has its fields again.
    @Test func eachHopGetsTheFieldsOfItsHost() async throws {
        let near = Observability.Propagation.hosts([try HostPattern("**.near.example")])
        #expect(
            try await Self.fields { $0.propagation = near } == [
                "a.near.example trace user=7", "far.example - -", "b.near.example trace user=7",
                "b.near.example trace user=7",
            ])
        #expect(
            try await Self.fields { $0.baggagePropagation = near } == [
                "a.near.example trace user=7", "far.example trace -", "b.near.example trace user=7",
                "b.near.example trace user=7",
            ])
    }

    /// A field that the caller has set is no context: it stays where the context is not added.
    @Test func aFieldOfTheCallerIsNotTheContexts() async throws {
        let name = try #require(HTTPField.Name("baggage"))
        let near = Observability.Propagation.hosts([try HostPattern("*.near.example")])
        #expect(
            try await Self.fields([name: "mine=1"]) { $0.propagation = near } == [
                "a.near.example trace user=7", "far.example - mine=1", "b.near.example trace user=7",
                "b.near.example trace user=7",
            ])
        #expect(try await Self.fields([name: "mine=1"]) { _ in }.allSatisfy { $0.hasSuffix(" trace mine=1") })
    }

    /// Two hosts over sockets, of which one is named.
    @Test func aRedirectOverASocketCarriesNothingToAnotherHost() async throws {
        let far = try LoopbackServer.http { _ in .text("far") }
        let target = far.url("/", host: "localhost")
        let near = try LoopbackServer.http { _ in .init(307, headers: [("Location", target)]) }
        let pattern = try HostPattern("127.0.0.1")
        let session = Session.observed(nil, .with { $0.propagation = .hosts([pattern]) })
        let url = near.url("/")
        try await W3CTracer.within("user=7") { _ = try await session.data(url) }
        #expect(near.requests.map { $0["traceparent"] } == [W3CTracer.child])
        #expect(near.requests.map { $0["baggage"] } == ["user=7"])
        #expect(far.requests.map { $0["traceparent"] } == [nil] && far.requests.map { $0["baggage"] } == [nil])
        await session.shutdown()
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
