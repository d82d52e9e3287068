import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// The events of a call, in order.
@Suite(.timeLimit(.minutes(3)))
struct RequestEventTests {
    /// Returns the events up to the first end of a call, as words.
    private func words(
        _ session: Session, until last: String, during body: () async throws -> Void
    ) async rethrows -> [String] {
        let events = session.requestEvents
        try await body()
        var words: [String] = []
        for await event in events {
            words.append(event.word)
            if event.word == last { break }
        }
        return words
    }

    @Test(.trellis(.mock { _ in .text("hello") }))
    func success() async throws {
        let session = try #require(Session.current)
        let words = try await words(session, until: "finished 200") {
            _ = try await session.data(Request("http://a.example/").withAdapter(Adapter { request, _ in request }))
        }
        #expect(
            words == [
                "created", "adapted", "queued", "admitted", "connected", "sent", "head 200", "ended", "finished 200",
            ])
    }

    @Test(.trellis(.mock { _ in .json("[1") }))
    func reading() async throws {
        let session = try #require(Session.current)
        let words = try await words(session, until: "serialized") {
            let request = session.request("http://a.example/").validate { _, _, _ in }
            _ = try? await request.decode([Int].self)
            _ = try await request.withoutValidation().string()
        }
        #expect(
            words.suffix(4) == ["finished 200", "validated", "serialized serialization", "serialized"])
    }

    @Test(.trellis(.mock { _ in MockResponse(status: 404) }))
    func aStreamThatIsNotAccepted() async throws {
        let session = try #require(Session.current)
        let words = await words(session, until: "validated unacceptable_status") {
            _ = try? await session.stream("http://a.example/").validate()
        }
        #expect(words.contains("finished 404"))
    }

    @Test(arguments: [true, false])
    func aStreamIsValidatedOnce(_ isHandle: Bool) async throws {
        let session = Session(transport: MockTransport { _ in .text("hello") })
        let events = session.requestEvents
        if isHandle {
            _ = try await session.streamRequest("http://a.example/").validate().response
        } else {
            _ = try await session.stream("http://a.example/").validate()
        }
        await session.shutdown()
        let words = await events.reduce(into: [String]()) { $0.append($1.word) }
        #expect(words.filter { $0 == "validated" }.count == 1)
    }

    @Test(.trellis(.mock { _ in MockResponse(status: 503) }))
    func retry() async throws {
        let session = try #require(Session.current)
        let request = Request("http://a.example/").withRetrier(
            Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry })
        let events = session.requestEvents
        _ = try await session.data(request)
        var words: [String] = []
        var attempts: [Int] = []
        for await event in events {
            words.append(event.word)
            attempts.append(event.attempt)
            if event.word.hasPrefix("finished") { break }
        }
        let attempt = ["queued", "admitted", "connected", "sent", "head 503", "ended"]
        #expect(words == ["created"] + attempt + ["retrying"] + attempt + ["finished 503"])
        #expect(attempts == Array(repeating: 1, count: 8) + Array(repeating: 2, count: 7))
    }

    @Test(.trellis(.mock { _ in throw TransportFailure(.exchangeFailed(.receive("reset"))) }))
    func failure() async throws {
        let session = try #require(Session.current)
        let words = await words(session, until: "failed receive") {
            _ = try? await session.data("http://a.example/")
        }
        #expect(words == ["created", "queued", "admitted", "connected", "sent", "ended receive", "failed receive"])
    }

    /// An executor that runs each job at once, on the thread that enqueues it.
    private final class InlineExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// The task of the call continues as soon as the engine tells it of the failure.
    @Test(.trellis(.mock { _ in throw TransportFailure(.exchangeFailed(.receive("reset"))) }))
    func aStreamThatFailsBeforeItsHead() async throws {
        let session = try #require(Session.current)
        let words = await words(session, until: "failed receive") {
            await Task(executorPreference: InlineExecutor()) { _ = try? await session.stream("http://a.example/") }
                .value
        }
        #expect(words == ["created", "queued", "admitted", "connected", "sent", "ended receive", "failed receive"])
    }

    /// A network step that changes nothing. A call with such a step has an actor.
    private struct Passing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request)
        }
    }

    /// The response of the last attempt is validated after the call, even if retriers are asked about it.
    @Test(arguments: [true, false], [true, false])
    func theLastValidation(_ isDirect: Bool, _ isAccepted: Bool) async throws {
        var configuration = SessionConfiguration()
        if !isDirect { configuration.steps.network = [Passing()] }
        configuration.steps.retriers = [Retrier { _, _ in .doNotRetry }]
        let transport = MockTransport { _ in .json("[1]", status: isAccepted ? 200 : 404) }
        let session = Session(configuration: configuration, transport: transport)
        let last = isAccepted ? "serialized" : "validated unacceptable_status"
        let words = await words(session, until: last) {
            _ = try? await session.decode([Int].self, from: "http://a.example/")
        }
        let accepted = ["head 200", "ended", "finished 200", "validated", "serialized"]
        #expect(
            words.suffix(isAccepted ? 5 : 4) == (isAccepted ? accepted : ["head 404", "ended", "finished 404", last]))
    }

    /// An attempt is validated before its retriers are asked.
    @Test(arguments: [true, false])
    func theValidationOfAnAttemptThatIsRetried(_ mayRetry: Bool) async throws {
        struct Final: Error {}
        var configuration = SessionConfiguration()
        configuration.steps.retriers = [
            Retrier { _, context in
                !mayRetry ? .doNotRetryWithError(Final()) : context.attempt == 1 ? .retry : .doNotRetry
            }
        ]
        let session = Session(
            configuration: configuration, transport: MockTransport { _ in MockResponse(status: 404) })
        let last = mayRetry ? "finished 404" : "failed Final()"
        let words = await words(session, until: last) {
            _ = try? await session.string("http://a.example/")
        }
        let refused = ["head 404", "ended", "validated unacceptable_status"]
        let attempt = ["created", "queued", "admitted", "connected", "sent"] + refused
        let retry = ["retrying"] + attempt[1...].prefix(6) + [last]
        #expect(words == attempt + (mayRetry ? retry : [last]))
    }

    @Test func cancellationAndSuspension() async throws {
        let scripted = Scripted()
        let events = scripted.session.requestEvents
        let handle = scripted.session.request("http://localhost/")
        handle.resume()
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        await scripted.session.settle()
        handle.suspend()
        handle.resume()
        handle.cancel()
        var words: [String] = []
        for await event in events {
            words.append(event.word)
            if event.word.hasPrefix("failed") { break }
        }
        #expect(
            words == [
                "created", "resumed", "queued", "admitted", "connected", "sent", "suspended", "resumed",
                "ended cancelled",
                "failed cancelled",
            ])
    }

    @Test func monitorsSeeEverythingInOrderAndAsMuchAsTheBufferHolds() async throws {
        let seen = Locked<[String]>([])
        let gate = LoopbackServer.Gate()
        let done = LoopbackServer.Gate()
        var configuration = SessionConfiguration()
        configuration.eventMonitors = [
            ClosureEventMonitor { event in
                try? await gate.opened()
                seen.withLock { $0.append(event.word) }
                if event.word.hasPrefix("finished") { done.open() }
            }
        ]
        configuration.eventBufferSize = 3
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        _ = try await session.data("http://a.example/")
        await session.settle()
        gate.open()
        try await done.opened()
        #expect(seen.withLock { Array($0.suffix(3)) } == ["head 200", "ended", "finished 200"])
        #expect(session.droppedEventCount >= 3)
    }

    @Test(.trellis(.mock { _ in .text("hello") }))
    func anObserverThatLeavesCostsNothingMore() async throws {
        let session = try #require(Session.current)
        do {
            var events = session.requestEvents.makeAsyncIterator()
            #expect(session.hub.isObserved)
            async let first = events.next(isolation: nil)
            _ = try await session.data("http://a.example/")
            #expect(await first?.word == "created")
        }
        #expect(!session.hub.isObserved)
    }
}

extension RequestEvent {
    /// The kind of the event, and the value that distinguishes events of one kind.
    var word: String {
        switch kind {
        case .created: "created"
        case .resumed: "resumed"
        case .suspended: "suspended"
        case .adapted: "adapted"
        case .upgraded(let request): "upgraded \(request.url)"
        case .alternativeSelected(let service): "alternativeSelected \(service)"
        case .alternativeFailed(let service, let error): "alternativeFailed \(service) \(name(error))"
        case .endpointSelected(let endpoint): "endpoint \(endpoint)"
        case .endpointEjected(let endpoint, let time): "ejected \(endpoint) \(time)"
        case .endpointReturned(let endpoint): "returned \(endpoint)"
        case .proxySelected(let decision): "\(decision)"
        case .trustFilesChanged(let paths, let error): "\(paths) \(error.map(name) ?? "changed")"
        case .queued: "queued"
        case .admitted: "admitted"
        case .connectionAdded(let number, let limit): "connectionAdded \(number) \(limit)"
        case .lookingUp(let host): "looking up \(host)"
        case .lookedUp(let host): "looked up \(host)"
        case .connecting(let address): "connecting \(address)"
        case .egressRefused(let refusal): "refused \(refusal)"
        case .handshaking(let host): "handshaking \(host)"
        case .connected: "connected"
        case .requestHeadSent: "head sent"
        case .requestSent(let size): size == 0 ? "sent" : "sent \(size)"
        case .serverTrustEvaluated(let trust, let error):
            "\(error.map(name) ?? "trusts") \(trust.map { $0.host } ?? "")"
        case .serverTrustReported(let report): "reported \(report)"
        case .evaluatingServerTrust(let trust): "evaluating \(trust.host)"
        case .informational(let head): "informational \(head.status.code)"
        case .head(let head): "head \(head.status.code)"
        case .exchangeEnded(_, let error): error.map { "ended \(name($0))" } ?? "ended"
        case .redirected(let redirect): "redirected \(redirect.status.code)"
        case .retrying: "retrying"
        case .rateLimited(let host, let wait): "rate limited \(host) \(wait)"
        case .concurrencyLimited(let host, let limit): "concurrency limited \(host) \(limit)"
        case .concurrencyReduced(let host, let limit, let pause):
            "concurrency reduced \(host) \(limit)\(pause.map { " \($0)" } ?? "")"
        case .circuitOpened(let host, let duration): "circuitOpened \(host) \(duration)"
        case .circuitClosed(let host): "circuitClosed \(host)"
        case .hedging: "hedging"
        case .coalesced: "coalesced"
        case .cacheUsed(let status): "cache \(status)"
        case .cacheFailed: "cache failed"
        case .cookiesFailed: "cookies failed"
        case .bodyReceived(_, let size, _): "body \(size)"
        case .finished(let response): "finished \(response.status.code)"
        case .validated(let error): error.map { "validated \(name($0))" } ?? "validated"
        case .serialized(_, let error): error.map { "serialized \(name($0))" } ?? "serialized"
        case .downloadContinued(let offset): "continued \(offset)"
        case .fileMoved(_, let destination): "moved to \(destination)"
        case .failed(let error): "failed \(name(error))"
        case .eventsDropped(let count): "dropped \(count)"
        }
    }

    private func name(_ error: any Error) -> String { (error as? TrellisError)?.kind.rawValue ?? "\(error)" }
}
