import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Errors of calls that sent bytes before the request that failed.
@Suite(.timeLimit(.minutes(3)))
struct EarlierTrafficTests {
    let clock = TestClock()

    private func session(
        _ transport: any Transport, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        change(&configuration)
        return Session(configuration: configuration, transport: transport, clock: clock)
    }

    private func failure(_ body: () async throws -> Void) async throws -> TrellisError {
        try #require(await #expect(throws: TrellisError.self) { try await body() })
    }

    @Test(arguments: [false, true], [HTTPRequest.Method.post, .put])
    func anAnsweredRequestBeforeARedirectWasSent(hasSteps: Bool, _ method: HTTPRequest.Method) async throws {
        let redirect = MockTransport { _ in MockResponse(status: 303, headers: [.location: "/next"]) }
        let transport = FaultTransport(wrapping: redirect, faults: [.always(.refusedConnection).on(path: "/next")])
        let session = session(transport) {
            if hasSteps { $0.steps.adapters.append(Adapter { request, _ in request }) }
        }
        let error = try await failure {
            _ = try await session.data(
                Request("http://a.example/", method: method, body: .string("x", contentType: "a/b")))
        }
        #expect(transport.faults == [.refusedConnection])
        #expect(error.kind == .connect && error.method == .get)
        #expect(error.mayHaveSentBytes)
        #expect(error.isRetryable == (method == .put))
    }

    /// Returns the error of a POST that is retried once, whose two attempts end as the script sets.
    private func failure(of script: (ScriptedAttempt, _ isFirst: Bool) -> Void) async throws -> TrellisError {
        let transport = ScriptedTransport(clock: clock)
        let session = session(transport) {
            $0.steps.retriers.append(Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry })
        }
        let task = Task { try await session.data(Request("http://a.example/", method: .post)) }
        script(try await transport.nextAttempt(), true)
        script(try await transport.nextAttempt(), false)
        return try await failure { _ = try await task.value }
    }

    @Test func anAttemptThatWasSentCountsWhereTheNextCouldNotConnect() async throws {
        let error = try await failure { attempt, isFirst in
            guard isFirst else { return attempt.fail(.connectionFailed(.unreachable("refused"))) }
            attempt.respond(status: 503)
        }
        #expect(error.phase == .connecting)
        #expect(error.mayHaveSentBytes && !error.isRetryable)
    }

    @Test func anErrorBeforeTheFirstHopNamesTheWholeURL() async throws {
        let session = session(MockTransport { _ in MockResponse() }) {
            $0.baseURL = "http://a.example/v2/"
            $0.steps.adapters.append(Adapter { request, _ in request })
        }
        await session.shutdown()
        let error = try await failure { _ = try await session.data("users") }
        #expect(error.reason == .cancelled(.sessionShutDown))
        #expect(error.method == .get && error.url == "http://a.example/v2/users")
    }

    @Test func nothingWasSentWhereNothingWas() async throws {
        let error = try await failure { attempt, _ in attempt.fail(.connectionFailed(.unreachable("refused"))) }
        #expect(!error.mayHaveSentBytes && error.isRetryable)
    }

    @Test func aDeadlineBetweenTwoAttemptsTellsThatTheFirstWasSent() async throws {
        let asked = LoopbackServer.Gate()
        let session = session(MockTransport { _ in MockResponse(status: 503) }) {
            $0.steps.retriers.append(
                Retrier { _, _ in
                    asked.open()
                    try? await LoopbackServer.Gate().opened()
                    return .doNotRetry
                })
        }
        let task = Task { [clock] in
            try await asked.opened()
            clock.move(by: .seconds(10))
        }
        let error = try await failure {
            var request = Request("http://a.example/", method: .post)
            request.timeouts = Timeouts(total: .seconds(10))
            _ = try await session.data(request)
        }
        try await task.value
        #expect(error.reason == .timedOut(.total))
        #expect(error.mayHaveSentBytes)
        #expect("\(error)".contains("between two attempts"))
    }
}
