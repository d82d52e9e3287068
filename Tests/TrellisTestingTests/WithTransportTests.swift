import CurlEngine
import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// The transport of an operation is that of all requests that the operation makes, in every session and on every path.
@Suite(.timeLimit(.minutes(3)))
struct WithTransportTests {
    /// A session whose own transport responds too, so that a request that reaches it is found.
    private struct Scene {
        let own = MockTransport.immediate { _ in .text("own") }
        let session: Session

        init(_ configure: (inout SessionConfiguration) -> Void = { _ in }) {
            var configuration = SessionConfiguration()
            configure(&configuration)
            session = Session(configuration: configuration, transport: own)
        }
    }

    /// A way to send a request.
    struct Path: Sendable, CustomStringConvertible {
        let description: String
        var configure: @Sendable (inout SessionConfiguration) -> Void = { _ in }
        let send: @Sendable (Session) async throws -> String
    }

    private static let url = "http://mock.example/"

    private static let paths: [Path] = [
        Path(description: "a call without steps") { try await $0.string(url) },
        Path(description: "a call with an adapter") {
            $0.steps.adapters.append(Adapter { request, _ in request.withHeader(.userAgent, "x/y") })
        } send: {
            try await $0.string(url)
        },
        Path(description: "a call with a step") {
            $0.steps.application.append(RequestCoalescing())
        } send: {
            try await $0.string(url)
        },
        Path(description: "a call with a cache") {
            $0.steps.cache = HTTPCache()
        } send: {
            try await $0.string(url)
        },
        Path(description: "a retry") {
            var policy = RetryPolicy(retryLimit: 1)
            policy.exponentialBackoffScale = .zero
            $0.steps.intercept(with: policy)
        } send: {
            try await $0.string("http://mock.example/flaky")
        },
        Path(description: "a redirect") { try await $0.string("http://mock.example/moved") },
        Path(description: "a stream") { session in
            var text = ""
            for try await chunk in try await session.stream(url).chunks {
                text += String(decoding: chunk, as: UTF8.self)
            }
            return text
        },
        Path(description: "lines") { session in
            for try await line in try await session.stream(url).lines { return line }
            return "none"
        },
        Path(description: "a handle") { String(decoding: try await $0.request(url).data(), as: UTF8.self) },
        Path(description: "a handle with steps") {
            $0.steps.application.append(RequestCoalescing())
        } send: {
            String(decoding: try await $0.request(url).data(), as: UTF8.self)
        },
        Path(description: "a handle on a stream") { session in
            var text = ""
            for try await chunk in try await session.streamRequest(url).response.chunks {
                text += String(decoding: chunk, as: UTF8.self)
            }
            return text
        },
        Path(description: "an upload") { session in
            let chunks = AsyncStream<Data> { continuation in
                continuation.yield(Data("x".utf8))
                continuation.finish()
            }
            return String(decoding: try await session.upload(chunks, to: url).0, as: UTF8.self)
        },
        Path(description: "a download") { session in
            let file = try await session.download(url)
            return String(decoding: try Data(contentsOf: URL(filePath: file.path)), as: UTF8.self)
        },
        Path(description: "the executor of the session") { session in
            try await withTaskExecutorPreference(session.executor) { try await session.string(url) }
        },
        Path(description: "a child task") { session in
            async let text = session.string(url)
            return try await text
        },
        Path(description: "a group") { session in
            try await withThrowingTaskGroup(of: String.self) { group in
                group.addTask { try await session.string(url) }
                return try await group.next() ?? "none"
            }
        },
        Path(description: "an unstructured task") { session in try await Task { try await session.string(url) }.value },
        Path(description: "two engines") {
            $0.engines = .fixed(2)
        } send: { session in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await session.string(url) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }.sorted().joined(separator: ", ")
            }
        },
    ]

    /// A transport that responds on each of the paths.
    private func makeTransport() -> MockTransport {
        let failures = Locked(1)
        return MockTransport.immediate { request in
            switch request.path {
            case "/moved": return MockResponse(status: 302, headers: [.location: "/"])
            case "/flaky":
                let mustFail = failures.withLock { count in
                    defer { count -= 1 }
                    return count > 0
                }
                return mustFail ? MockResponse(status: 503) : .text("operation")
            default: return .text("operation")
            }
        }
    }

    @Test(arguments: paths)
    func theTransportIsThatOfTheOperation(_ path: Path) async throws {
        let scene = Scene(path.configure), transport = makeTransport()
        let text = try await withTransport(transport) { try await path.send(scene.session) }
        #expect(text == "operation")
        #expect(transport.startedCount > 0)
        #expect(scene.own.startedCount == 0)
        #expect(try await scene.session.string(Self.url) == "own")
    }

    /// The refresh of a credential belongs to the operation whose request needs it.
    @Test func theRefreshOfACredentialIsARequestOfTheOperation() async throws {
        let scene = Scene {
            $0.baseURL = "http://mock.example/"
            $0.steps.intercept(
                with: AuthenticationInterceptor(authenticator: OAuth(), credential: Tokens(access: "a")))
        }
        let router = MockRouter()
        router.route(.post, "/token").respond(with: .json(#"{"access": "b"}"#))
        router.route(.get, "/", .header("Authorization", "Bearer b")).respond(with: .text("operation"))
        router.route(.get, "/").respond(with: MockResponse(status: 401))
        #expect(try await withTransport(router) { try await scene.session.string(Self.url) } == "operation")
        #expect(scene.own.startedCount == 0)
    }

    @Test func theHandshakeOfAWebSocketIsARequestOfTheOperation() async throws {
        let scene = Scene(), router = MockRouter()
        router.route(.get, "/chat", .header("Upgrade", "websocket")).respond(with: MockResponse(status: 403))
        _ = try await withTransport(router) {
            await #expect(throws: TrellisError.self) { try await scene.session.webSocket("ws://mock.example/chat") }
        }
        #expect(scene.own.startedCount == 0)
    }

    @Test func serverSentEventsAreRequestsOfTheOperation() async throws {
        let scene = Scene(), router = MockRouter()
        router.route(.get, "/events").then(
            MockResponse(headers: [.contentType: "text/event-stream"], body: Data("data: 1\n\n".utf8)))
        let data = try await withTransport(router) {
            for try await event in scene.session.eventSource("http://mock.example/events") { return event.data }
            return "none"
        }
        #expect(data == "1")
        #expect(scene.own.startedCount == 0)
    }

    // MARK: Reach

    /// Tests with one session run at the same time, each with its own transport.
    @Test func operationsDoNotSeeEachOther() async throws {
        let scene = Scene()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let router = MockRouter()
                    router.route(.get, "/\(number)").respond { _ in .text("\(number)") }
                    try await withTransport(router) {
                        for _ in 0..<10 {
                            let text = try await scene.session.string("http://mock.example/\(number)")
                            #expect(text == "\(number)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(scene.own.startedCount == 0)
    }

    @Test func aHandleKeepsTheTransportOfTheTaskThatHasMadeIt() async throws {
        let scene = Scene { $0.steps.application.append(RequestCoalescing()) }, plain = Scene()
        let outside = [scene.session.request(Self.url), plain.session.request(Self.url)]
        let download = plain.session.downloadRequest(Self.url)
        let transport = makeTransport()
        let inside = try await withTransport(transport) {
            for handle in outside {
                let bytes = try await handle.data()
                #expect(bytes == Data("own".utf8))
            }
            let path = try await download.value.path
            let saved = try Data(contentsOf: URL(filePath: path))
            #expect(saved == Data("own".utf8))
            return (
                [scene.session.request(Self.url), plain.session.request(Self.url)],
                plain.session.streamRequest(Self.url), plain.session.downloadRequest(Self.url)
            )
        }
        #expect(transport.startedCount == 0)
        for handle in inside.0 { #expect(try await handle.data() == Data("operation".utf8)) }
        for try await chunk in try await inside.1.response.chunks { #expect(chunk == Data("operation".utf8)) }
        let saved = try await inside.2.value.path
        #expect(try Data(contentsOf: URL(filePath: saved)) == Data("operation".utf8))
        #expect(transport.startedCount == 4)
    }

    private func text(of download: DownloadRequest) async throws -> String {
        let file = try await download.value
        return String(decoding: try Data(contentsOf: URL(filePath: file.path)), as: UTF8.self)
    }

    @Test func aTaskMayOutliveItsOperation() async throws {
        let scene = Scene(), gate = LoopbackServer.Gate()
        let (inherited, detached) = try await withTransport(makeTransport()) {
            (
                Task {
                    try await gate.opened()
                    return try await scene.session.string(Self.url)
                }, Task.detached { try await scene.session.string(Self.url) }
            )
        }
        gate.open()
        #expect(try await inherited.value == "operation")
        #expect(try await detached.value == "own")
    }

    @Test func anInnerOperationReplacesTheTransport() async throws {
        let scene = Scene(), outer = MockRouter(), inner = MockRouter()
        outer.route(.get, "/").respond(with: .text("outer"))
        inner.route(.get, "/").respond(with: .text("inner"))
        #expect(MockRouter.current == nil)
        let texts = try await withTransport(outer) {
            #expect(MockRouter.current === outer)
            let text = try await withTransport(inner) {
                #expect(MockRouter.current === inner)
                return try await scene.session.string(Self.url)
            }
            return [text, try await scene.session.string(Self.url)]
        }
        #expect(texts == ["inner", "outer"])
        #expect(MockRouter.current == nil)
    }

    /// A request that waits in one operation takes no connection from another.
    @Test(arguments: [1, 2])
    func operationsHaveTheirOwnConnections(_ engines: Int) async throws {
        let scene = Scene {
            $0.limits = ConnectionLimits(total: 1, perOrigin: 1)
            $0.engines = .fixed(engines)
        }
        let held = LoopbackServer.Gate(), isHeld = LoopbackServer.Gate()
        let slow = MockTransport { _ in
            isHeld.open()
            try await held.opened()
            return .text("slow")
        }
        async let first = withTransport(slow) { try await scene.session.string(Self.url) }
        try await isHeld.opened()
        #expect(try await withTransport(makeTransport()) { try await scene.session.string(Self.url) } == "operation")
        #expect(try await scene.session.string(Self.url) == "own")
        #expect(slow.startedCount == 1)
        held.open()
        #expect(try await first == "slow")
    }

    @Test func theLimitsOnConnectionsApplyInAnOperation() async throws {
        let scene = Scene { $0.limits = ConnectionLimits(total: 10, perOrigin: 1) }
        let gates = [LoopbackServer.Gate(), LoopbackServer.Gate()]
        let transport = MockTransport { request in
            try await gates[request.path == "/0" ? 0 : 1].opened()
            return .text(request.path)
        }
        try await withTransport(transport) {
            async let first = scene.session.string("http://mock.example/0")
            try await transport.waitUntilRequested(count: 1)
            async let second = scene.session.string("http://mock.example/1")
            for _ in 0..<1000 { await Task.yield() }
            #expect(transport.startedCount == 1)
            for gate in gates { gate.open() }
            #expect(try await [first, second] == ["/0", "/1"])
        }
    }

    /// Equal requests of two operations do not share a response.
    @Test func operationsShareNoFlight() async throws {
        let scene = Scene { $0.steps.application.append(RequestCoalescing()) }
        let held = LoopbackServer.Gate()
        let slow = MockTransport { _ in
            try await held.opened()
            return .text("slow")
        }
        async let first = withTransport(slow) { try await scene.session.string(Self.url) }
        try await slow.waitUntilRequested(count: 1)
        #expect(try await withTransport(makeTransport()) { try await scene.session.string(Self.url) } == "operation")
        held.open()
        #expect(try await first == "slow")
    }

    // MARK: Problems

    @Test func theProblemsOfATransportAreThrown() async throws {
        let scene = Scene(), router = MockRouter()
        router.route(.get, "/used").respond(with: .text("1"))
        router.route(.get, "/unused").respond(with: .text("1"))
        let error = await #expect(throws: TestProblems.self) {
            try await withTransport(router) { try await scene.session.string("http://mock.example/used") }
        }
        #expect(error?.problems.map(\.description) == ["GET /unused was not requested"])
    }

    @Test func theErrorOfTheOperationSaysMore() async throws {
        let scene = Scene(), router = MockRouter()
        router.route(.get, "/users").respond(with: .text("1"))
        let error = await #expect(throws: TrellisError.self) {
            try await withTransport(router) { try await scene.session.string("http://mock.example/user") }
        }
        #expect("\(try #require(error))".contains("path: expected /users, was /user"))
    }

    @Test func aTestWithoutANetworkFailsWithTheURL() async throws {
        let scene = Scene()
        let error = await #expect(throws: TestProblems.self) {
            try await withTransport(.noNetwork) {
                _ = try? await scene.session.data("http://mock.example/?token=s3cret")
            }
        }
        let text = "the test has no network, and GET http://mock.example/?token=REDACTED was not sent"
        #expect(error?.problems == [TestProblem(text)])
        #expect(scene.own.startedCount == 0)
        #expect(try await withTransport(.noNetwork) { 7 } == 7)
    }

    @Test func aProviderMakesTheTransport() async throws {
        let scene = Scene()
        let routed = try await withTransport(
            .router(baseURL: "http://mock.example/") { $0.route(.get, "").respond(with: .text("1")) }
        ) {
            try await scene.session.string(Self.url)
        }
        let mocked = try await withTransport(.mock { .text($0.path) }) { try await scene.session.string(Self.url) }
        let served = try await withTransport(.server { .text($0.path) }) { try await scene.session.string(Self.url) }
        #expect([routed, mocked, served] == ["1", "/", "/"])
    }

    // MARK: Handlers that do not wait

    @Test func aHandlerThatDoesNotWaitResponds() async throws {
        let transport = MockTransport.immediate { request in
            if request.path == "/error" { throw TransportFailure(.connectionFailed(.unreachable("x"))) }
            if request.path == "/stream" { return MockResponse { try await $0.write("streamed") } }
            return .text(request.body?.data.map { String(decoding: $0, as: UTF8.self) } ?? "none")
        }
        let session = Session(transport: transport)
        #expect(try await session.string(Self.url) == "none")
        #expect(try await session.string("http://mock.example/stream") == "streamed")
        let (data, _) = try await session.upload(Data("body".utf8), to: Self.url)
        #expect(data == Data("body".utf8))
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://mock.example/error") }
        #expect(error?.kind == .connect)
        #expect(transport.startedCount == 4)
        #expect(transport.activeCount == 0)
        #expect(transport.recordedRequests.map(\.number) == [1, 2, 3, 4])
    }
}
