#if Observability
import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisObservability
import TrellisTesting

/// The context and the baggage of the task are added to requests by the user's own propagator.
@Suite(.timeLimit(.minutes(3)))
struct UserPropagatorTests {
    private static let url = "https://api.example.com/"

    /// An observation whose baggage goes to every host.
    private static let generous = Observability.with { $0.baggagePropagation = .everywhere }

    @Test func theSpanAndTheBaggageReachTheWire() async throws {
        let server = try LoopbackServer.http { _ in .text("x") }
        let session = Session.observed(nil, Self.generous)
        try await W3CTracer.within("tenant=7,plan=gold") { _ = try await session.data(server.url("/")) }
        let request = try #require(server.requests.first)
        #expect(request["traceparent"] == W3CTracer.child)
        #expect(request["baggage"] == "tenant=7,plan=gold")
    }

    @Test func withoutSpansTheContextOfTheTaskIsSent() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(
            transport,
            .with {
                $0.createsSpans = false
                $0.baggagePropagation = .everywhere
            })
        try await W3CTracer.within("tenant=7") { _ = try await session.data(Self.url) }
        #expect(transport.requests.map { $0["traceparent"] } == [W3CTracer.parent])
        #expect(transport.requests.map { $0["baggage"] } == ["tenant=7"])
    }

    @Test func eachRequestHasTheBaggageOfItsTask() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport, Self.generous)
        for tenant in ["tenant=1", "tenant=2"] {
            try await W3CTracer.within(tenant) { _ = try await session.data(Self.url) }
        }
        #expect(transport.requests.map { $0["baggage"] } == ["tenant=1", "tenant=2"])
    }

    /// A retry and a redirect are requests of the same task.
    @Test func eachRequestOfACallHasTheBaggage() async throws {
        let transport = MockTransport { request in
            request.path == "/a" ? MockResponse(status: 302, headers: [.location: "/b"]) : .text("there")
        }
        let session = Session.observed(transport, Self.generous)
        try await W3CTracer.within("tenant=7") { _ = try await session.data(Self.url + "a") }
        #expect(transport.requests.map { $0["baggage"] } == ["tenant=7", "tenant=7"])
    }

    /// A propagator that adds nothing leaves the caller's own field.
    @Test func aFieldWithoutABaggageStays() async throws {
        let transport = MockTransport { _ in .text("x") }
        let session = Session.observed(transport, Self.generous)
        let name = try #require(HTTPField.Name("baggage"))
        try await W3CTracer.within(nil) { _ = try await session.data(Self.url, headers: [name: "mine=1"]) }
        #expect(transport.requests.map { $0["baggage"] } == ["mine=1"])
    }
}
#endif
