import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The steps around an attempt, their order, and how often each step runs.
@Suite(.timeLimit(.minutes(3)))
struct StepOrderTests {
    /// A log of the steps that have run.
    final class Diary: Sendable {
        private let lines = Locked<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func write(_ line: String) { lines.withLock { $0.append(line) } }
    }

    static let names = ["Call-A", "Call-B", "Attempt-A"].compactMap { HTTPField.Name($0) }

    struct Note: RequestStep {
        let name: HTTPField.Name
        let diary: Diary
        init(_ name: HTTPField.Name, _ diary: Diary) { (self.name, self.diary) = (name, diary) }
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            diary.write("\(name) \(context.attempt) >")
            let answer = try await next(request.withHeader(HTTPField(name: name, value: "\(context.attempt)")))
            diary.write("\(name) \(context.attempt) < \(answer.response.status.code)")
            return answer
        }
    }

    struct Watcher: RequestInterceptor {
        let name: String
        let diary: Diary
        var result = RetryResult.doNotRetry
        func adapt(_ request: Request, context: CallContext) async throws -> Request {
            diary.write("\(name) adapts \(context.attempt)")
            return request
        }
        func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
            diary.write("\(name) asked \(context.attempt): \(attempt.response?.status.code ?? 0)")
            return context.attempt < 2 ? result : .doNotRetry
        }
    }

    @Test func sessionFirstThenRequestAndEverythingOncePerAttempt() async throws {
        let diary = Diary()
        let transport = MockTransport { _ in
            diary.write("wire")
            return MockResponse(status: 503)
        }
        var configuration = SessionConfiguration()
        configuration.steps.application = [Note(Self.names[0], diary)]
        configuration.steps.network = [Note(Self.names[2], diary)]
        configuration.steps.intercept(with: Watcher(name: "session", diary: diary))
        let session = Session(configuration: configuration, transport: transport)
        var request = Request("http://a.example/").withInterceptor(
            Watcher(name: "request", diary: diary, result: .retry))
        request.steps?.application = [Note(Self.names[1], diary)]
        let (_, response) = try await session.data(request)
        #expect(response.metrics.attemptCount == 2)
        #expect(
            diary.all == [
                "Call-A 1 >", "Call-B 1 >",
                "session adapts 1", "request adapts 1", "Attempt-A 1 >", "wire", "Attempt-A 1 < 503",
                "session asked 1: 503", "request asked 1: 503",
                "session adapts 2", "request adapts 2", "Attempt-A 2 >", "wire", "Attempt-A 2 < 503",
                "session asked 2: 503", "request asked 2: 503",
                "Call-B 1 < 503", "Call-A 1 < 503",
            ])
        #expect(transport.requests.last?.request.headers[Self.names[2]] == "2")
        #expect(transport.requests.last?.request.headers[Self.names[1]] == "1")
    }

    @Test func aStepAnswersWithoutARequest() async throws {
        struct Canned: RequestStep {
            func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
                StepResponse(to: request, status: .accepted, headers: [.server: "none"], body: Data("canned".utf8))
            }
        }
        let transport = MockTransport { _ in MockResponse() }
        let session = Session(transport: transport)
        let request = Request("http://a.example/").withSteps { $0.application = [Canned()] }
        let (data, response) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "canned")
        #expect(response.status == .accepted)
        #expect(response.headers[.server] == "none")
        var streamed = Data()
        for try await chunk in try await session.stream(request).chunks { streamed += chunk }
        #expect(String(decoding: streamed, as: UTF8.self) == "canned")
        #expect(transport.startedCount == 0)
    }

    /// The reader of a stream gets an error also if the response comes from a step, with its body in memory.
    @Test func aStreamOfAStepIsCancelled() async throws {
        struct Canned: RequestStep {
            func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
                StepResponse(to: request, status: .ok, body: Data("canned".utf8))
            }
        }
        let session = Session(transport: MockTransport { _ in MockResponse() })
        let stream = try await session.stream(Request("http://a.example/").withSteps { $0.application = [Canned()] })
        stream.cancel()
        let error = await #expect(throws: TrellisError.self) {
            for try await chunk in stream.chunks { Issue.record("\(chunk)") }
        }
        #expect(error?.isCancellation == true)
        await #expect(throws: TrellisError.self) { try await stream.finalResponse() }
    }

    @Test func stepsNeverRunOnTheEngineThread() async throws {
        let session = Session(transport: MockTransport { _ in MockResponse(status: 500) })
        let engine = session.engine
        let onEngine = Locked<[Bool]>([])
        let note: @Sendable () -> Void = { onEngine.withLock { $0.append(engine.isCurrent) } }
        let request = Request("http://a.example/")
            .withAdapter(
                Adapter { request, _ in
                    note(); return request
                }
            )
            .withRetrier(
                Retrier { _, _ in
                    note(); return .doNotRetry
                })
        try await withTaskExecutorPreference(session.executor) { _ = try await session.data(request) }
        #expect(onEngine.withLock { $0 } == [false, false])
    }

    @Test func anAdapterThatThrowsIsAFailureThatRetriersSee() async throws {
        struct Broken: Error, Equatable {}
        let transport = MockTransport { _ in .text("hello") }
        let session = Session(transport: transport)
        let tries = Locked(0)
        let adapter = Adapter { request, _ in
            if tries.withLock({
                $0 += 1; return $0
            }) == 1 {
                throw Broken()
            }
            return request
        }
        let request = Request("http://a.example/").withAdapter(adapter)
        await #expect(throws: Broken()) { try await session.data(request) }
        tries.withLock { $0 = 0 }
        let (data, _) = try await session.data(
            request.withRetrier(Retrier { attempt, _ in attempt.error is Broken ? .retry : .doNotRetry }))
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        #expect(transport.startedCount == 1)
    }

    @Test func whatABodyCannotGiveTwiceIsSaid() async throws {
        let session = Session(transport: MockTransport { _ in MockResponse(status: 503) })
        let chunks = AsyncStream<Data> {
            $0.yield(Data("once".utf8)); $0.finish()
        }
        let request = Request("http://a.example/", method: .put, body: .stream(chunks))
            .withRetrier(Retrier { _, _ in .retry })
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(error?.response?.status.code == 503)
    }

    /// Nobody has cancelled the call: a verb and a handle throw the error of the step.
    @Test func aCancellationErrorOfAStepIsItsError() async {
        let session = Session(transport: MockTransport { _ in .text("hello") })
        let request = Request("http://a.example/").withAdapter(Adapter { _, _ in throw CancellationError() })
        await #expect(throws: CancellationError.self) { try await session.data(request) }
        await #expect(throws: CancellationError.self) { try await session.request(request).data() }
    }

    /// The body that was sent counts, which an adapter may have set.
    @Test func aBodyOfAnAdapterThatCannotBeReadTwiceIsNotSentEmpty() async throws {
        let transport = MockTransport { _ in MockResponse(status: 503) }
        let session = Session(transport: transport)
        let chunks = AsyncStream<Data> {
            $0.yield(Data("once".utf8)); $0.finish()
        }
        let request = Request("http://a.example/", method: .put)
            .withAdapter(Adapter { request, _ in request.setting(\.body, to: .stream(chunks)) })
            .withRetrier(Retrier { _, _ in .retry })
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .bodyNotReplayable && transport.requests.count == 1)
    }

    @Test func aStreamIsRetriedBeforeItsHeadIsHandedOn() async throws {
        let flaky = MockTransport(responses: [MockResponse(status: 503), MockResponse(status: 503), .text("body")])
        let session = Session(transport: flaky)
        let response = try await session.stream(
            Request("http://a.example/").withRetrier(Retrier { _, _ in .retry }))
        var body = Data()
        for try await chunk in response.chunks { body += chunk }
        #expect(String(decoding: body, as: UTF8.self) == "body")
        #expect(response.response.metrics.attemptCount == 3)
        try await flaky.waitUntilIdle()
    }
}
