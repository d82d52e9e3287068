import Testing

@testable import CurlEngine

/// Evaluations wait for each other: for a script that looks a name up, which lasts until the test lets its server respond. Each test has its
/// own process, because the configuration of the resolver belongs to the process.
@Suite(
    .timeLimit(.minutes(3)), .requiresPAC,
    .enabled(if: NameServer.isAvailable, "needs root, for a resolver configuration"))
struct ProxyScriptWaitTests {
    private typealias Runner = ProxyScriptRunner

    private static let quick = "function FindProxyForURL(url, host) { return 'quick' }"

    /// Returns a script whose result is a name, and comes after the lookup of that name.
    private static func lookup(of name: String) -> String {
        "function FindProxyForURL(url, host) { dnsResolve('\(name).lookup.test'); return '\(name)' }"
    }

    /// The limit is longer than a test, unless the test is about it.
    private static func result(of script: String, limit: Duration = .seconds(3600)) async throws -> String {
        try await Runner.result(
            of: script, for: .init(url: "http://www.example.com/", host: "www.example.com"), limit: limit)
    }

    /// Starts a name server, and the evaluation of a script that has asked it for `first`.
    private static func begin() async throws -> (names: NameServer, first: Task<String, any Error>) {
        let names = try NameServer()
        // The thread of the evaluations inherits the resolver configuration of the thread that starts it.
        let run = EngineRun()
        let failure = await run.onEngine { () -> String? in
            do { try NameServer.use() } catch { return "\(error)" }
            return nil
        }
        if let failure { throw NameServer.Failure(failure) }
        let first = Task(executorPreference: run.executor) { try await result(of: lookup(of: "first")) }
        await names.untilAsked(1)
        return (names, first)
    }

    private static func expect<Expected: Error & Equatable>(
        _ expected: Expected, from task: Task<String, any Error>, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        do {
            let text = try await task.value
            expectInProcess(false, "no error, but \(text)", sourceLocation: sourceLocation)
        } catch {
            expectInProcess(error as? Expected == expected, "\(error)", sourceLocation: sourceLocation)
        }
    }

    /// A task that is cancelled does not wait for an evaluation under way; the next evaluation waits for its turn.
    @Test func aCancelledTaskDoesNotWait() async {
        await #expect(processExitsWith: .success) {
            typealias Tests = ProxyScriptWaitTests
            let (names, first) = try await Tests.begin()
            let second = Task.immediate { try await Tests.result(of: Tests.lookup(of: "second")) }
            let third = Task.immediate { try await Tests.result(of: Tests.quick) }
            for task in [first, second] {
                task.cancel()
                let result = await task.result
                if case .failure(let error) = result, error is CancellationError { continue }
                expectInProcess(false, "\(result)")
            }
            names.release()
            let text = try await third.value
            expectInProcess(text == "quick", text)
            expectInProcess(names.names == ["first.lookup.test"], "\(names.names)")
        }
    }

    /// An evaluation that takes too long is an error, and so are at once all that come after it, until the script has returned.
    @Test func aScriptThatDoesNotReturnInTime() async {
        await #expect(processExitsWith: .success) {
            typealias Tests = ProxyScriptWaitTests
            let (names, first) = try await Tests.begin()
            let late = Task.immediate {
                try await Tests.result(of: Tests.lookup(of: "late"), limit: .milliseconds(20))
            }
            // These two wait for their turn already when the time of the script begins.
            let queued = (0..<2).map { _ in Task.immediate { try await Tests.result(of: Tests.quick) } }
            names.releaseHeld()
            expectInProcess(try await first.value == "first")
            await Tests.expect(Runner.Failure.overdue, from: late)
            for task in queued { await Tests.expect(Runner.Failure.hung, from: task) }
            await Tests.expect(Runner.Failure.hung, from: Task { try await Tests.result(of: Tests.quick) })
            names.release()
            // Once the script has returned, others are evaluated, and its own result is of no other.
            var text: String?
            while text == nil, !Task.isCancelled {
                do { text = try await Tests.result(of: Tests.quick) } catch Runner.Failure.hung { await Task.yield() }
            }
            expectInProcess(text == "quick", text ?? "nothing")
        }
    }

    /// The time of a script begins with its evaluation.
    @Test func theWaitForAnotherScriptDoesNotCount() async {
        await #expect(processExitsWith: .success) {
            typealias Tests = ProxyScriptWaitTests
            let (names, first) = try await Tests.begin()
            let (limit, hasEnded) = (Duration.milliseconds(20), Locked(false))
            let second = Task.immediate {
                defer { hasEnded.withLock { $0 = true } }
                return try await Tests.result(of: Tests.lookup(of: "second"), limit: limit)
            }
            // A limit that began with the call would end before this sleep, which began later.
            try await ContinuousClock().sleep(for: limit * 2)
            expectInProcess(!hasEnded.withLock { $0 }, "the wait has counted")
            names.releaseHeld()
            expectInProcess(try await first.value == "first")
            // The name server does not respond to the second script, so that its limit ends.
            await Tests.expect(Runner.Failure.overdue, from: second)
            // The limit may end before the query has reached the server.
            await names.untilAsked(2)
            expectInProcess(names.names == ["first.lookup.test", "second.lookup.test"], "\(names.names)")
            names.release()
        }
    }
}
