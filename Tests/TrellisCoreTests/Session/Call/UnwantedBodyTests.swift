import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Stream bodies without a reader: those of redirects, of retried responses, and of challenges.
@Suite(.timeLimit(.minutes(3)))
struct UnwantedBodyTests {
    /// Advances the clock until the next attempt starts: all attempts share one connection slot.
    private func next(_ scripted: Scripted, _ count: Int) async throws -> ScriptedAttempt {
        while scripted.transport.attempts.count < count, !Task.isCancelled {
            await scripted.advance(by: .milliseconds(100))
        }
        return try await scripted.transport.nextAttempt()
    }

    private func finish(_ attempt: ScriptedAttempt, _ opening: Task<StreamResponse, any Error>) async throws {
        attempt.respond("there")
        #expect(try await opening.value.chunks.collect(upTo: 100) == Data("there".utf8))
    }

    @Test(arguments: [nil, "20", "10000000"])
    func aRedirectIsFollowedThoughItsBodyNeverEnds(length: String?) async throws {
        let scripted = Scripted.narrow
        // Without an idle limit nothing else would end the wait.
        var request = Request("http://localhost/")
        request.timeouts = Timeouts(idle: nil)
        let opening = Task { [session = scripted.session, request] in try await session.stream(request) }
        let first = try await next(scripted, 1)
        first.connect()
        first.receiveHead(status: 302, headers: HTTPFields(location: "/next", length: length))
        first.receiveBody("moved")
        let second = try await next(scripted, 2)
        #expect(second.request.url == "http://localhost/next")
        #expect(first.count(of: .cancel) == 1)
        try await finish(second, opening)
    }

    @Test func anAnswerThatIsRetriedGivesItsConnectionBack() async throws {
        let scripted = Scripted {
            $0.limits.total = 1
            $0.steps.retriers.append(Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry })
        }
        var request = Request("http://localhost/")
        request.timeouts = Timeouts(idle: nil)
        let opening = Task { [session = scripted.session, request] in try await session.stream(request) }
        let first = try await next(scripted, 1)
        first.connect()
        first.receiveHead(status: 503)
        let second = try await next(scripted, 2)
        #expect(first.count(of: .cancel) == 1)
        try await finish(second, opening)
    }

    @Test func aShortBodyIsReadSoThatItsConnectionIsKept() async throws {
        let scripted = Scripted.narrow
        let opening = Task { [session = scripted.session] in try await session.stream("http://localhost/") }
        let first = try await next(scripted, 1)
        first.connect()
        first.receiveHead(status: 302, headers: HTTPFields(location: "/next", length: "5"))
        first.receiveBody("moved")
        first.end()
        let second = try await scripted.transport.nextAttempt()
        #expect(first.count(of: .cancel) == 0)
        try await finish(second, opening)
    }
}

extension HTTPFields {
    fileprivate init(location: String, length: String?) {
        self = [.location: location]
        if let length { self[.contentLength] = length }
    }
}
