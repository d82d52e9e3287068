import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The events of calls in memory that have observers and no steps.
@Suite(.timeLimit(.minutes(3)))
struct ObservedCallTests {
    private static func session(
        _ monitor: EventWords, _ transport: MockTransport, baseURL: String? = "http://a.example/api/"
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.baseURL = baseURL
        configuration.eventMonitors = [monitor]
        return Session(configuration: configuration, transport: transport)
    }

    /// The call that continues is the same one, with the URL that the session has completed.
    @Test func aCallContinuesAfterARedirect() async throws {
        let monitor = EventWords(.calls)
        let transport = MockTransport { request in
            request.path == "/api/a" ? MockResponse(status: 302, headers: [.location: "/b"]) : .text("there")
        }
        let session = Self.session(monitor, transport)
        let (data, response) = try await session.data("a")
        await session.shutdownAfterEvents()
        #expect(data == Data("there".utf8) && response.status == .ok)
        #expect(transport.requests.map(\.path) == ["/api/a", "/b"])
        #expect(monitor.words == ["created", "redirected 302", "finished 200"])
        #expect(Set(monitor.all.map(\.callID)).count == 1)
        #expect(Set(monitor.all.map(\.url)) == ["http://a.example/api/a"])
    }

    @Test func theFailureOfACallIsItsLastEvent() async throws {
        let monitor = EventWords(.calls)
        let transport = MockTransport { _ in throw TransportFailure(.exchangeFailed(.receive("reset"))) }
        let session = Self.session(monitor, transport)
        let error = await #expect(throws: TrellisError.self) { try await session.data("a") }
        await session.shutdownAfterEvents()
        let words = monitor.words
        #expect(words.count == 2 && words.first == "created" && words.last?.hasPrefix("failed ") == true)
        #expect(error?.url == "http://a.example/api/a" && error?.callID == monitor.all.first?.callID)
    }

    /// The jobs of a task, run by a thread only from a moment on.
    private final class HeldExecutor: TaskExecutor {
        private let held = Locked<[UnownedJob]?>(nil)

        func hold() { held.withLock { $0 = [] } }

        func release() {
            let jobs = held.withLock { held in
                defer { held = nil }
                return held ?? []
            }
            for job in jobs { run(job) }
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let isHeld = held.withLock { held in
                held?.append(job)
                return held != nil
            }
            if !isHeld { run(job) }
        }

        private func run(_ job: UnownedJob) {
            Task.detached { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// The task of the call runs, and sends the last event, only when the session's threads have ended.
    @Test(arguments: [false, true], [false, true])
    func theLastEventOfACallThatAShutdownEndsIsNotLost(_ hasSteps: Bool, _ isOfTheRequest: Bool) async throws {
        let monitor = EventWords(.calls)
        let scripted = Scripted { configuration in
            if !isOfTheRequest { configuration.eventMonitors = [monitor] }
            if hasSteps { configuration.steps.adapters = [Adapter { request, _ in request }] }
        }
        let session = scripted.session, executor = HeldExecutor()
        let request = Request("http://a.example/"), observed = request.withEventMonitor(monitor)
        let task = Task(executorPreference: executor) {
            await Outcome { "\(try await session.data(isOfTheRequest ? observed : request).1.status.code)" }
        }
        _ = try await scripted.transport.nextAttempt()
        executor.hold()
        let hasEnded = Locked(false)
        let end = Task {
            // A shutdown, whose wait for the last event has two seconds of the system's time.
            await session.engines.drain(for: .zero, session.life)
            await session.engines.shutDown()
            await session.hub.finish(within: .seconds(50))
            hasEnded.withLock { $0 = true }
        }
        // A task that was still on its way to the wait for its response has not been held.
        while !session.hub.openCalls.isAwaited, !hasEnded.withLock({ $0 }), !Task.isCancelled { await Task.yield() }
        executor.release()
        await end.value
        #expect(monitor.words.last == "failed cancelled")
        #expect(await task.value == .failed(.cancelled(.sessionShutDown)))
    }

    /// The kinds of calls that could stay open.
    enum Kind: CaseIterable {
        case data, redirect, failure, stream, droppedStream, handle, cancelledHandle, suspendedHandle, steps
    }

    /// A call that stayed open would make each shutdown last two seconds.
    @Test(arguments: Kind.allCases) func noCallStaysOpen(_ kind: Kind) async throws {
        let transport = MockTransport { request in
            switch request.path {
            case "/api/redirect": MockResponse(status: 302, headers: [.location: "/b"])
            case "/api/failure": throw TransportFailure(.exchangeFailed(.receive("reset")))
            default: .text("there")
            }
        }
        let session = Self.session(EventWords(.calls), transport)
        switch kind {
        case .data, .redirect: _ = try await session.data("\(kind)")
        case .failure: _ = try? await session.data("failure")
        case .stream: for try await _ in try await session.stream("a").chunks {}
        case .droppedStream: _ = try await session.stream("a")
        case .handle: _ = try await session.request("a").data()
        case .cancelledHandle:
            let handle = session.request("a")
            handle.resume()
            handle.cancel()
            _ = try? await handle.data()
        case .suspendedHandle:
            let handle = session.request("a")
            handle.resume()
            handle.suspend()
            handle.resume()
            _ = try await handle.data()
        case .steps:
            let request = Request("a").withAdapter(Adapter { request, _ in request })
            _ = try await session.data(request.withRetrier(Retrier { _, _ in .doNotRetry }))
        }
        while !session.hub.openCalls.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(session.hub.openCalls.isEmpty)
        await session.shutdown()
        #expect(!session.hub.openCalls.isAwaited)
    }

    /// A handle that was never started has no last event.
    @Test func aShutdownDoesNotWaitForAHandleThatWasNotStarted() async throws {
        let monitor = EventWords(.calls)
        let session = Self.session(monitor, MockTransport { _ in .text("hello") })
        let handle = session.request("a")
        _ = try await monitor.words(until: "created")
        await session.shutdown()
        #expect(!session.hub.openCalls.isAwaited && monitor.words == ["created"])
        withExtendedLifetime(handle) {}
    }

    @Test func aRequestThatCannotBeSentHasTheEventsOfACall() async throws {
        let monitor = EventWords()
        let session = Self.session(monitor, MockTransport { _ in .text("hello") }, baseURL: nil)
        let error = await #expect(throws: TrellisError.self) { try await session.data("users") }
        await session.shutdownAfterEvents()
        let words = monitor.words
        #expect(error?.kind == .invalidURL && words == ["created", "failed invalid_url"])
    }
}
