#if Observability
import FoundationEssentials
import HTTPTypes
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The context and the baggage of the task are added to requests by the user's own propagator.
@Suite(.timeLimit(.minutes(3)))
struct UserPropagatorTests {
    private static let url = "https://api.example.com/"

    /// Runs a closure with a tracer, in a context with a parent and baggage.
    private static func within(_ baggage: String?, _ body: @Sendable () async throws -> Void) async throws {
        var context = InstrumentationContext.topLevel
        context.traceParent = W3CTracer.parent
        context.baggage = baggage
        let asked = context
        try await withTracer(W3CTracer()) {
            try await InstrumentationContext.withValue(asked) { try await body() }
        }
    }

    @Test func theSpanAndTheBaggageReachTheWire() async throws {
        let server = try LoopbackServer.http { _ in .text("x") }
        let session = Session.observed(nil)
        try await Self.within("tenant=7,plan=gold") { _ = try await session.data(server.url("/")) }
        let request = try #require(server.requests.first)
        #expect(request["traceparent"] == W3CTracer.child)
        #expect(request["baggage"] == "tenant=7,plan=gold")
    }

    @Test func withoutSpansTheContextOfTheTaskIsSent() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport, .with { $0.createsSpans = false })
        try await Self.within("tenant=7") { _ = try await session.data(Self.url) }
        #expect(transport.requests.map { $0["traceparent"] } == [W3CTracer.parent])
        #expect(transport.requests.map { $0["baggage"] } == ["tenant=7"])
    }

    @Test func eachRequestHasTheBaggageOfItsTask() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport)
        for tenant in ["tenant=1", "tenant=2"] {
            try await Self.within(tenant) { _ = try await session.data(Self.url) }
        }
        #expect(transport.requests.map { $0["baggage"] } == ["tenant=1", "tenant=2"])
    }

    /// A retry and a redirect are requests of the same task.
    @Test func eachRequestOfACallHasTheBaggage() async throws {
        let transport = MockTransport { request in
            request.path == "/a" ? MockResponse(status: 302, headers: [.location: "/b"]) : .text("there")
        }
        let session = Session.observed(transport)
        try await Self.within("tenant=7") { _ = try await session.data(Self.url + "a") }
        #expect(transport.requests.map { $0["baggage"] } == ["tenant=7", "tenant=7"])
    }

    /// A propagator that adds nothing leaves the caller's own field.
    @Test func aFieldWithoutABaggageStays() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport)
        let name = try #require(HTTPField.Name("baggage"))
        try await Self.within(nil) { _ = try await session.data(Self.url, headers: [name: "mine=1"]) }
        #expect(transport.requests.map { $0["baggage"] } == ["mine=1"])
    }
}

/// A tracer of the user's, which drops its spans and writes the fields of W3C Trace Context and of W3C Baggage.
private struct W3CTracer: Tracer {
    static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    static let child = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

    func startSpan<Instant: TracerInstant>(
        _ name: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> NoOpTracer.NoOpSpan {
        var context = context()
        context.traceParent = Self.child
        return NoOpTracer.NoOpSpan(context: context)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        if let parent = context.traceParent { injector.inject(parent, forKey: "traceparent", into: &carrier) }
        if let baggage = context.baggage { injector.inject(baggage, forKey: "baggage", into: &carrier) }
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func forceFlush() {}
}

extension InstrumentationContext {
    private enum ParentKey: InstrumentationContextKey { typealias Value = String }
    private enum BaggageKey: InstrumentationContextKey { typealias Value = String }

    fileprivate var traceParent: String? {
        get { self[ParentKey.self] }
        set { self[ParentKey.self] = newValue }
    }

    fileprivate var baggage: String? {
        get { self[BaggageKey.self] }
        set { self[BaggageKey.self] = newValue }
    }
}
#endif
