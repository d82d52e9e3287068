import Foundation
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// A reused connection whose close is noticed only after a request was sent on it.
@Suite(.timeLimit(.minutes(3)))
struct StaleConnectionTests {
    private let transport = ScriptedTransport()
    private let session: Session

    init() { session = Session(transport: transport) }

    private func failsFirst(_ request: Request, reused: Bool, isConnectionFailure: Bool) async throws -> Task<
        Int, any Error
    > {
        let answer = Task { [session] in try await session.data(request).1.status.code }
        let first = try await transport.nextAttempt()
        first.connect()
        first.report.isReusedConnection = reused
        first.fail(.exchangeFailed(.http2("GOAWAY")), isConnectionFailure: isConnectionFailure)
        return answer
    }

    /// Expects that the request fails, and was sent once.
    private func expectOneAttempt(_ answer: Task<Int, any Error>) async {
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .http2)
        #expect(transport.attempts.count == 1)
        await session.shutdown()
    }

    @Test func anIdempotentRequestGoesOutOnceMore() async throws {
        let answer = try await failsFirst(Request("http://stale.example/"), reused: true, isConnectionFailure: true)
        let second = try await transport.nextAttempt()
        second.respond(status: 204)
        #expect(try await answer.value == 204)
        await session.shutdown()
    }

    @Test(arguments: [
        ("POST", true, true), ("GET", false, true), ("GET", true, false),
    ])
    func anythingElseFails(_ method: String, _ reused: Bool, _ isConnectionFailure: Bool) async throws {
        let request = Request("http://stale.example/", method: .init(rawValue: method) ?? .get)
        let answer = try await failsFirst(request, reused: reused, isConnectionFailure: isConnectionFailure)
        await expectOneAttempt(answer)
    }

    /// The server may have handled the request before it closed the connection.
    @Test func aRequestThatIsSentOnceFails() async throws {
        var request = Request("http://stale.example/")
        request.isSentOnce = true
        let answer = try await failsFirst(request, reused: true, isConnectionFailure: true)
        await expectOneAttempt(answer)
    }

    @Test func onceIsEnough() async throws {
        let answer = try await failsFirst(Request("http://stale.example/"), reused: true, isConnectionFailure: true)
        let second = try await transport.nextAttempt()
        second.connect()
        second.report.isReusedConnection = true
        second.fail(.exchangeFailed(.http2("GOAWAY")), isConnectionFailure: true)
        await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(transport.attempts.count == 2)
        await session.shutdown()
    }

    /// A suspended request stays suspended: the second attempt waits until the user resumes the request.
    @Test func aSuspendedRequestGoesOutOnceMoreWhenItIsResumed() async throws {
        let request = session.request("http://stale.example/")
        let answer = Task { try await request.response(of: .data).status.code }
        let first = try await transport.nextAttempt()
        first.connect()
        request.suspend()
        try await first.wait(for: .suspend(true))
        first.report.isReusedConnection = true
        first.fail(.exchangeFailed(.http2("GOAWAY")), isConnectionFailure: true)
        await session.settle()
        #expect(transport.attempts.count == 1, "nothing is sent while it is suspended")
        request.resume()
        let second = try await transport.nextAttempt()
        #expect(second.commands.isEmpty)
        second.respond(status: 204)
        #expect(try await answer.value == 204)
        await session.shutdown()
    }

    @Test func aSuspendedRequestThatWouldGoOutOnceMoreCanBeCancelled() async throws {
        let request = session.request("http://stale.example/")
        let answer = Task { _ = try await request.data() }
        let first = try await transport.nextAttempt()
        first.connect()
        request.suspend()
        try await first.wait(for: .suspend(true))
        first.report.isReusedConnection = true
        first.fail(.exchangeFailed(.http2("GOAWAY")), isConnectionFailure: true)
        await session.settle()
        request.cancel()
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .cancelled)
        #expect(transport.attempts.count == 1)
        await session.shutdown()
    }
}
