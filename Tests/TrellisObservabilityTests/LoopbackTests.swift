#if Observability
import FoundationEssentials
import InMemoryTracing
import MetricsTestKit
import TestSupport
import Testing
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// Observed requests over a socket.
@Suite(.timeLimit(.minutes(3)))
struct LoopbackTests {
    @Test func aSpanHasTheAddressOfThePeer() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Session.observed(nil)
        for _ in 1...2 { _ = try await backends { try await session.data(server.url("/")) } }
        #expect(backends.spans.count == 2)
        for span in backends.spans {
            #expect(span["network.peer.address"] == .string("127.0.0.1"))
            #expect(span["network.peer.port"] == .int64(Int64(server.port)))
            #expect(span["server.port"] == .int64(Int64(server.port)))
            #expect(span["network.protocol.version"] == .string("1.1"))
        }
        #expect(backends.metrics.recorders(label: "http.client.response.body.size").map(\.values) == [[5, 5]])
    }

    @Test func aRefusedConnectionIsAnError() async throws {
        let backends = Backends()
        let url = try ClosedPort().url()
        await #expect(throws: TrellisError.self) { try await backends { try await Session.observed(nil).data(url) } }
        #expect(backends.spans.map { $0["error.type"] } == [.string("connect")])
        #expect(backends.metrics.meters.map(\.lastValue) == [0])
    }

    @Test func aTruncatedBodyIsAnError() async throws {
        let backends = Backends()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        }
        let url = server.url("/")
        await #expect(throws: TrellisError.self) { try await backends { try await Session.observed(nil).data(url) } }
        #expect(backends.spans.map { $0["error.type"] } == [.string("truncated_body")])
        #expect(backends.spans.first?.status?.code == .error)
    }

    @Test func aRedirectOverASocketHasTwoSpans() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { request in
            request.path == "/a" ? .init(302, headers: [("Location", "/b")]) : .text("there")
        }
        _ = try await backends { try await Session.observed(nil).data(server.url("/a")) }
        #expect(backends.spans.map { $0["http.response.status_code"] } == [.int64(302), .int64(200)])
        #expect(server.requests.map { $0[InMemoryTracer.spanIDKey] } == backends.spans.map(\.spanID))
    }
}
#endif
