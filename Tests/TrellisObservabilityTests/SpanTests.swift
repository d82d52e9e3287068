#if Observability
import FoundationEssentials
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing
@_spi(Transport) import Trellis
import TrellisObservability
@_spi(Transport) import TrellisTesting

/// The spans of requests, with the attributes that OpenTelemetry's conventions for HTTP clients want.
@Suite(.timeLimit(.minutes(3)))
struct SpanTests {
    private static let url = "https://api.example.com:8443/users/7?page=2&token=abc"

    private static func response() -> MockResponse {
        var response = MockResponse.text("hello")
        response.report.peerHost = "192.0.2.1"
        response.report.peerPort = 8443
        return response
    }

    @Test func aSpanHasTheAttributesOfTheConventions() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in Self.response() })
        _ = try await backends { try await session.data(Self.url) }
        let span = try #require(backends.spans.first)
        #expect(backends.spans.count == 1)
        #expect(span.operationName == "GET" && span.kind == .client && span.status == nil && span.errors.isEmpty)
        #expect(
            span.values == [
                "http.request.method": .string("GET"), "server.address": .string("api.example.com"),
                "server.port": .int64(8443),
                "url.full": .string("https://api.example.com:8443/users/7?page=2&token=REDACTED"),
                "http.response.status_code": .int64(200), "network.protocol.version": .string("1.1"),
                "network.peer.address": .string("192.0.2.1"), "network.peer.port": .int64(8443),
            ])
    }

    @Test func theTemplateOfTheURLIsInTheNameAndInAnAttribute() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in Self.response() })
        let request = Request(Self.url).withURLTemplate("/users/{id}")
        #expect(request.urlTemplate == "/users/{id}" && Request(Self.url).urlTemplate == nil)
        _ = try await backends { try await session.data(request) }
        #expect(backends.spans.map(\.operationName) == ["GET /users/{id}"])
        #expect(backends.spans.first?["url.template"] == .string("/users/{id}"))
    }

    @Test(arguments: ["PURGE", "get"])
    func anUnknownMethodIsOther(_ name: String) async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in Self.response() })
        let request = Request(Self.url, method: try #require(HTTPRequest.Method(name))).withURLTemplate("/users/{id}")
        _ = try await backends { try await session.data(request) }
        let span = try #require(backends.spans.first)
        #expect(span.operationName == "HTTP /users/{id}")
        #expect(span["http.request.method"] == .string("_OTHER"))
        #expect(span["http.request.method_original"] == .string(name))
    }

    @Test func theKnownMethodsCanBeReplaced() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport { _ in Self.response() }, .with { $0.knownMethods = ["PURGE"] })
        let request = Request(Self.url, method: try #require(HTTPRequest.Method("PURGE")))
        _ = try await backends { try await session.data(request) }
        #expect(backends.spans.map(\.operationName) == ["PURGE"])
        #expect(backends.spans.first?["http.request.method_original"] == nil)
    }

    @Test(arguments: [200, 204, 304, 399])
    func aSuccessHasNoStatus(_ code: Int) async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [code]))
        _ = try? await backends { try await session.data(Self.url) }
        #expect(backends.spans.count == 1)
        #expect(backends.spans.first?.status == nil && backends.spans.first?["error.type"] == nil)
    }

    @Test(arguments: [400, 404, 500, 599])
    func aStatusFrom400OnIsAnError(_ code: Int) async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport(statuses: [code]))
        _ = try? await backends { try await session.data(Self.url) }
        let span = try #require(backends.spans.first)
        #expect(span.status == SpanStatus(code: .error))
        #expect(span["error.type"] == .string("\(code)"))
        #expect(span["http.response.status_code"] == .int64(Int64(code)))
    }

    @Test func aFailureIsAnErrorWithItsKind() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport { _ in throw TransportFailure(.connectionFailed(.unreachable("refused"))) })
        let error = await #expect(throws: TrellisError.self) {
            try await backends { try await session.data(Self.url).0 }
        }
        let span = try #require(backends.spans.first)
        #expect(span["error.type"] == .string("connect") && span["http.response.status_code"] == nil)
        #expect(span.status?.code == .error)
        #expect(span.status?.message?.contains("refused") == true && span.status?.message?.contains("abc") == false)
        #expect(error?.kind == .connect && span.errors.isEmpty)
    }

    /// A cancellation by the caller is not an error in the conventions, for collected bodies and for streams.
    @Test(arguments: [false, true])
    func aCancellationIsNoError(isStream: Bool) async throws {
        let backends = Backends()
        let gate = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await gate.opened()
            return Self.response()
        }
        let session = Session.observed(transport)
        let task = Task {
            try await backends {
                if isStream { _ = try await session.stream(Self.url) } else { _ = try await session.data(Self.url) }
            }
        }
        try await transport.waitUntilRequested(count: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await backends.waitForSpans(1)
        let span = try #require(backends.spans.first)
        #expect(span.status == nil && span["error.type"] == nil && span["http.response.status_code"] == nil)
        #expect(backends.tracer.activeSpans.isEmpty)
    }

    @Test func theUserAgentIsRecordedIfAskedFor() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport { _ in Self.response() }, .with { $0.recordsUserAgent = true }
        ) { $0.userAgent = "backup/2" }
        _ = try await backends { try await session.data(Self.url) }
        _ = try await backends { try await session.data(Self.url, headers: [.userAgent: "mine"]) }
        #expect(backends.spans.map { $0["user_agent.original"] } == [.string("backup/2"), .string("mine")])
    }

    @Test func aSpanIsTheChildOfTheTasksSpan() async throws {
        let backends = Backends()
        let session = Session.observed(MockTransport { _ in Self.response() })
        _ = try await backends {
            try await backends.tracer.withSpan("work") { _ in try await session.data(Self.url).0 }
        }
        #expect(backends.spans.map(\.operationName) == ["GET", "work"])
        #expect(backends.spans.first?.parentSpanID == backends.spans.last?.spanID)
    }

    @Test func aSpanAroundTheCallIsMadeOnRequest() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport(statuses: [503, 200]), .with { $0.createsCallSpans = true }
        ) { $0.steps.intercept(with: RetryPolicy.once) }
        _ = try await backends { try await session.data(Self.url) }
        #expect(backends.spans.map(\.operationName) == ["GET", "GET", "trellis.call"])
        let call = try #require(backends.spans.last)
        #expect(call.kind == .internal && call.status == nil)
        #expect(backends.spans.dropLast().allSatisfy { $0.parentSpanID == call.spanID })
        #expect(call["http.response.status_code"] == .int64(200) && call["trellis.retry.count"] == .int64(1))
    }

    @Test func theSpanOfAFailedCallIsAnError() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport { _ in throw TransportFailure(.exchangeFailed(.receive("lost"))) },
            .with { $0.createsCallSpans = true })
        _ = try? await backends { try await session.data(Self.url) }
        #expect(backends.spans.map(\.operationName) == ["GET", "trellis.call"])
        #expect(backends.spans.allSatisfy { $0.status?.code == .error && $0["error.type"] == .string("receive") })
    }
}
#endif
