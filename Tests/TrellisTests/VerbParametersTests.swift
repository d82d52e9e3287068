import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

@testable import TrellisCore

/// The query, the fields and the time limit that are passed to verbs and handles.
@Suite(.timeLimit(.minutes(3)))
struct VerbParametersTests {
    private typealias Call = @Sendable (Session, String) async throws -> Void

    /// Every verb and handle, with a query and fields by text.
    private static let calls: [(String, Call)] = [
        ("data", { _ = try await $0.data($1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)) }),
        (
            "string",
            { _ = try await $0.string($1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)) }
        ),
        (
            "decode",
            {
                _ = try await $0.decode(
                    Int.self, from: $1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60))
            }
        ),
        (
            "stream",
            { _ = try await $0.stream($1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)) }
        ),
        (
            "upload",
            {
                _ = try await $0.upload(
                    .string("x"), to: $1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60))
            }
        ),
        (
            "request",
            {
                _ = try await $0.request($1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60))
                    .string()
            }
        ),
        (
            "parts",
            {
                _ = try await $0.request(
                    $1, method: .post, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)
                ).string()
            }
        ),
        (
            "streamRequest",
            {
                _ = try await $0.streamRequest(
                    $1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)
                ).response
            }
        ),
        (
            "uploadRequest",
            {
                _ = try await $0.uploadRequest(
                    .string("x"), to: $1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)
                ).string()
            }
        ),
        (
            "download",
            {
                let file = try await $0.download(
                    $1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60))
                try FileManager.default.removeItem(atPath: file.path)
            }
        ),
        (
            "downloadRequest",
            {
                let file = try await $0.downloadRequest(
                    $1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)
                ).value
                try FileManager.default.removeItem(atPath: file.path)
            }
        ),
        (
            "events",
            {
                let events = $0.eventSource(
                    $1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60))
                for try await _ in events {}
            }
        ),
        (
            "webSocket",
            { _ = try await $0.webSocket($1, query: ["q": "a b"], headers: ["X-Trace": "1"], timeout: .seconds(60)) }
        ),
        (
            "webSockets",
            {
                for try await _ in $0.reconnectingWebSockets(
                    $1, query: ["q": "a b"], headers: [.from: "x"], timeout: .seconds(60))
                {
                }
            }
        ),
        ("Request", { _ = try await $0.data(Request($1, query: ["q": "a b"], headers: ["X-Trace": "1"])) }),
    ]

    @Test(arguments: calls.map(\.0))
    func everyVerbTakesAQueryAndFieldsByText(_ name: String) async throws {
        let transport = MockTransport { request in
            request["Accept"] == "text/event-stream" ? MockResponse(status: 204) : .json("7")
        }
        let session = Session(transport: transport)
        let call = try #require(Self.calls.first { $0.0 == name }?.1)
        do { try await call(session, "http://a.example/x?a=1") } catch {
            #expect(name.hasPrefix("webSocket"), "\(error)")
        }
        let request = try #require(transport.requests.first)
        #expect(request.url == "http://a.example/x?a=1&q=a%20b")
        #expect(request[name == "webSockets" ? "From" : "X-Trace"] == (name == "webSockets" ? "x" : "1"))
        let total = request.request.timeouts?.total
        #expect(name == "Request" || total != nil && total != Timeouts.inherited && (total ?? .zero) <= .seconds(60))
        await session.shutdown()
    }

    @Test func theTimeoutReplacesTheTotalAlone() throws {
        let request = Request("/").withTimeouts(Timeouts(connect: .seconds(1), total: .seconds(60)))
        let both = request.adjusted(
            query: [:], headers: HTTPFields(), timeout: .seconds(5),
            timeouts: Timeouts(idle: .seconds(2), total: .seconds(9)), interceptor: nil)
        #expect(both.timeouts == Timeouts(connect: .seconds(1), idle: .seconds(2), total: .seconds(5)))
        #expect(
            Request("/").adjusted(
                query: [:], headers: HTTPFields(), timeout: .seconds(5), timeouts: nil, interceptor: nil
            ).timeouts == Timeouts(total: .seconds(5)))
        #expect(
            Request("/").adjusted(query: [:], headers: HTTPFields(), timeout: nil, timeouts: nil, interceptor: nil)
                .timeouts == nil)
    }

    @Test func theTimeoutEndsTheCall() async throws {
        let clock = TestClock()
        let gate = LoopbackServer.Gate()
        let transport = MockTransport { _ in
            try await gate.opened()
            return .text("late")
        }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: clock)
        let call = Task { try await session.data("http://a.example/", timeout: .seconds(5)) }
        try await transport.waitUntilRequested(count: 1)
        await session.settle()
        clock.move(by: .seconds(6))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.reason == .timedOut(.total))
    }

    @Test func literalsHaveTextNamesTypedNamesAndLists() {
        let fields = Request("/", headers: ["X-A": "1", "x-b": "2", "X-A": "3"]).headers
        #expect(fields.map(\.value) == ["1", "2", "3"] && fields["X-A"] == "1, 3")
        #expect(Request("/", headers: [.accept: "text/html"]).headers[.accept] == "text/html")
        #expect(Request("/", headers: [.accept("text/html"), .userAgent("a")]).headers.count == 2)
        #expect(Request("/", headers: [:]).headers.isEmpty && Request("/", headers: []).headers.isEmpty)
    }

    @Test func aNameThatIsNoTokenIsAnErrorWhenTheRequestIsSent() async {
        let session = Session(transport: MockTransport { _ in .text("ok") })
        let error = await #expect(throws: TrellisError.self) {
            try await session.data("http://a.example/", headers: ["no token": "1"])
        }
        #expect(error?.reason == .invalidRequest(.headerField("no token")))
    }

    @Test func aQueryGoesBeforeTheFragmentAndRepeatsNames() {
        #expect(Request("/a#end", query: ["t": "1", "t": "2", "e": ""]).url == "/a?t=1&t=2&e=#end")
        #expect(Request("/a?", query: ["\u{E9}": "&="]).url == "/a?%C3%A9=%26%3D")
    }
}
