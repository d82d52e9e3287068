import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisEvents

/// An event source over scripted connections, on a clock that the test advances.
@Suite(.timeLimit(.minutes(3)))
struct EventSourceTests {
    let scripted = Scripted()

    /// Reads until the end; returns the data of each event, and the result.
    private func read(
        _ request: Request = Request("http://localhost/"), _ change: (inout ReconnectionPolicy) -> Void = { _ in }
    ) -> Task<Outcome, Never> {
        var reconnection = ReconnectionPolicy()
        change(&reconnection)
        let source = scripted.session.eventSource(from: { request }, reconnecting: reconnection) { 0.5 }
        return outcome {
            var seen: [String] = []
            for try await event in source { seen.append("\(event.data)#\(event.id)") }
            return seen.joined(separator: " ")
        }
    }

    /// Returns the next attempt, answered with a stream of events.
    private func answer(_ body: String, status: Int = 200, type: String = "text/event-stream") async throws
        -> ScriptedAttempt
    {
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: status, headers: [.contentType: type])
        if !body.isEmpty { attempt.receiveBody(body) }
        return attempt
    }

    /// Returns when the source waits and its connection is closed. Without a request, no timer but that of the wait is set.
    private func waitUntilItWaits() async {
        while !Task.isCancelled {
            await scripted.session.settle()
            if await scripted.liveCount == 0, await scripted.timerCount == 1 { return }
        }
    }

    /// Checks that the source waits for exactly this duration.
    private func expectWait(of duration: Duration) async {
        await waitUntilItWaits()
        let count = scripted.transport.attempts.count
        await scripted.advance(by: duration - .nanoseconds(1))
        #expect(scripted.transport.attempts.count == count)
        await scripted.advance(by: .nanoseconds(1))
    }

    private func lastEventID(_ attempt: ScriptedAttempt) throws -> String? {
        attempt.request.request.headers[try #require(HTTPField.Name("Last-Event-ID"))]
    }

    @Test func aStreamThatEndsIsOpenedAgainWithTheLastEventID() async throws {
        let reading = read()
        let first = try await answer("data: a\nid: 1\n\ndata: b\n\nid: 2\ndata: cut")
        #expect(try lastEventID(first) == nil)
        #expect(first.request.request.headers[.accept] == "text/event-stream")
        first.end()
        await expectWait(of: .seconds(3))
        let second = try await answer("data: c\n\nid: 3\ndata: d\n\n")
        #expect(try lastEventID(second) == "1")
        second.end()
        await expectWait(of: .seconds(3))
        #expect(try lastEventID(try await answer("", status: 204)) == "3")
        #expect(await reading.value == .answer("a#1 b#1 c#1 d#3"))
    }

    /// Each request to such a service may cost money.
    @Test func aPostIsSentOnce() async throws {
        let reading = read(Request("http://localhost/", method: .post, body: .string("question")))
        try await answer("data: a\n\n").end()
        #expect(await reading.value == .answer("a#"))
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test(arguments: [true, false]) func aPostThatMayHaveArrivedIsNotSentAgain(_ hasHead: Bool) async throws {
        let reading = read(Request("http://localhost/", method: .post))
        let attempt = try await (hasHead ? answer("data: a\n\n") : scripted.transport.nextAttempt())
        if !hasHead { attempt.connect() }
        attempt.fail(.exchangeFailed(.receive("x")))
        #expect(await reading.value == .failed(.exchangeFailed(.receive("x"))))
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func aPostThatWasNotSentIsSentLater() async throws {
        let reading = read(Request("http://localhost/", method: .post))
        try await scripted.transport.nextAttempt().fail(.connectionFailed(.unreachable("x")))
        await expectWait(of: .seconds(4.5))
        try await answer("data: a\n\n").end()
        #expect(await reading.value == .answer("a#"))
    }

    @Test func aPostIsRepeatedIfItsRulesSaySo() async throws {
        let reading = read(Request("http://localhost/", method: .post)) { $0.repeatsAnyMethod = true }
        try await answer("data: a\n\n").end()
        await expectWait(of: .seconds(3))
        try await answer("data: b\n\n").fail(.exchangeFailed(.receive("x")))
        await expectWait(of: .seconds(4.5))
        _ = try await answer("", status: 204)
        #expect(await reading.value == .answer("a# b#"))
    }

    /// The request as it was sent counts.
    @Test func aRequestThatAnAdapterMakesAPostIsSentOnce() async throws {
        let request = Request("http://localhost/").withInterceptor(Adapter { request, _ in request.withMethod(.post) })
        let reading = read(request)
        try await answer("data: a\n\n").end()
        #expect(await reading.value == .answer("a#"))
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func anIDThatTheServerTookBackIsNotSent() async throws {
        let reading = read(Request("http://localhost/", headers: [try #require(.init("Last-Event-ID")): "9"]))
        let first = try await answer("data: a\n\nid\ndata: b\n\n")
        #expect(try lastEventID(first) == "9")
        first.end()
        await expectWait(of: .seconds(3))
        #expect(try lastEventID(try await answer("", status: 204)) == nil)
        #expect(await reading.value == .answer("a#9 b#"))
    }

    @Test func theServerSetsTheReconnectionTime() async throws {
        let reading = read()
        try await answer("retry: 500\n\n").end()
        await expectWait(of: .milliseconds(500))
        try await answer("data: a\n\n").end()
        await expectWait(of: .milliseconds(500))
        _ = try await answer("", status: 204)
        #expect(await reading.value == .answer("a#"))
    }

    @Test func aConnectionThatIsLostOrRefusedIsTriedAgainLaterAndLater() async throws {
        let reading = read()
        let lost = try await answer("data: a\n\n")
        lost.fail(.exchangeFailed(.receive("x")))
        await expectWait(of: .seconds(4.5))
        try await scripted.transport.nextAttempt().fail(.connectionFailed(.unreachable("x")))
        await expectWait(of: .seconds(6))
        try await scripted.transport.nextAttempt().fail(.connectionFailed(.unreachable("x")))
        await expectWait(of: .seconds(9))
        try await answer("data: b\n\n").fail(.invalidResponse(.bodyCutShort("x")))
        await expectWait(of: .seconds(4.5))
        _ = try await answer("", status: 204)
        #expect(await reading.value == .answer("a# b#"))
    }

    @Test func silenceIsALostConnection() async throws {
        let reading = read()
        let silent = try await answer("data: a\n\n")
        await scripted.advance(by: .seconds(59))
        #expect(silent.count(of: .cancel) == 0)
        await scripted.advance(by: .seconds(1))
        try await silent.wait(for: .cancel)
        await expectWait(of: .seconds(4.5))
        _ = try await answer("", status: 204)
        #expect(await reading.value == .answer("a#"))
    }

    @Test func aStreamMayLastForEver() async throws {
        let reading = read()
        let attempt = try await answer("")
        for _ in 0..<100 {
            attempt.receiveBody(":\n")
            await scripted.advance(by: .seconds(50))
        }
        attempt.receiveBody("data: a\n\n")
        attempt.end()
        await expectWait(of: .seconds(3))
        _ = try await answer("", status: 204)
        #expect(await reading.value == .answer("a#"))
    }

    static let refused: [(Int, String, TrellisError.ValidationFailure)] = [
        (500, "text/event-stream", .status(500)), (301, "text/event-stream", .status(301)),
        (200, "text/html", .contentType("text/html", acceptable: ["text/event-stream"])),
    ]

    @Test(arguments: refused)
    func anyOtherAnswerIsAnErrorForGood(
        _ status: Int, _ type: String, _ failure: TrellisError.ValidationFailure
    ) async throws {
        let events = scripted.session.eventSource("http://localhost/?token=a")
        let reading = Task { () -> TrellisError? in
            do { for try await _ in events {} } catch { return error as? TrellisError }
            return nil
        }
        try await answer("why not", status: status, type: type).end()
        let error = try #require(await reading.value)
        #expect(error.reason == .validationFailed(failure))
        #expect(error.url == "http://localhost/?token=REDACTED" && error.method == .get)
        #expect(error.response?.status.code == status)
        #expect(error.bodyExcerpt?.text == "why not")
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func aBodyWithoutAnEndIsNotWaitedFor() async throws {
        let reading = read()
        let attempt = try await answer("", status: 503)
        #expect(await reading.value == .failed(.validationFailed(.status(503))))
        try await attempt.wait(for: .cancel)
    }

    @Test func failuresInARowEndItWhereTheyAreLimited() async throws {
        let reading = read { $0.maximumFailures = 2 }
        try await scripted.transport.nextAttempt().fail(.connectionFailed(.unreachable("x")))
        await expectWait(of: .seconds(4.5))
        try await scripted.transport.nextAttempt().fail(.connectionFailed(.unreachable("y")))
        #expect(await reading.value == .failed(.connectionFailed(.unreachable("y"))))
    }

    @Test func anEventAboveTheLimitIsAnErrorForGood() async throws {
        let source = scripted.session.eventSource("http://localhost/", maximumEventSize: 10)
        let reading = outcome {
            for try await _ in source {}
            return "the end"
        }
        let attempt = try await answer("data: 12345678901\n\n")
        #expect(await reading.value == .failed(.invalidResponse(.bodyTooLarge(limit: 10))))
        try await attempt.wait(for: .cancel)
    }

    @Test func aRequestThatCannotBeMadeIsAnErrorForGood() async throws {
        #expect(
            await read(Request("ftp://localhost/")).value
                == .failed(.invalidRequest(.url("its scheme is ftp, not http or https"))))
    }

    /// An error that the observer of heads throws ends the source, also an error with which a lost connection would reconnect.
    @Test func whatTheObserverOfHeadsThrowsIsTheEnd() async throws {
        let source = scripted.session.eventSource("http://localhost/", reconnecting: .init()) { _ in
            throw TrellisError(.timedOut(.idle))
        }
        let reading = outcome {
            for try await _ in source {}
            return "the end"
        }
        let attempt = try await answer("data: a\n\n")
        #expect(await reading.value == .failed(.timedOut(.idle)))
        try await attempt.wait(for: .cancel)
        #expect(scripted.transport.attempts.count == 1)
    }

    // MARK: Ends

    enum Place: CaseIterable, Sendable { case connecting, reading, waiting }

    /// Brings a source to a place, and returns the attempt at that place.
    private func bring(to place: Place) async throws -> ScriptedAttempt? {
        switch place {
        case .connecting: return try await scripted.transport.nextAttempt()
        case .reading: return try await answer("data: a\n\n")
        case .waiting:
            try await answer("data: a\n\n").end()
            await waitUntilItWaits()
            return nil
        }
    }

    @Test(arguments: Place.allCases)
    func cancellingItsTaskEndsIt(_ place: Place) async throws {
        let reading = read()
        let attempt = try await bring(to: place)
        reading.cancel()
        #expect(await reading.value == .taskCancelled)
        try await attempt?.wait(for: .cancel)
        await scripted.session.settle()
        #expect(await scripted.liveCount == 0)
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test(arguments: Place.allCases)
    func shuttingTheSessionDownEndsIt(_ place: Place) async throws {
        let reading = read()
        _ = try await bring(to: place)
        await scripted.session.shutdown()
        #expect(await reading.value == .failed(.cancelled(.sessionShutDown)))
    }

    @Test func leavingTheLoopEndsTheTransfer() async throws {
        let source = scripted.session.eventSource("http://localhost/")
        let reading = outcome {
            for try await event in source { return event.data }
            return "the end"
        }
        let attempt = try await answer("data: a\n\n")
        #expect(await reading.value == .answer("a"))
        try await attempt.wait(for: .cancel)
    }

    @Test func afterAnErrorItHasEnded() async throws {
        var reader = scripted.session.eventSource("relative").makeAsyncIterator()
        await #expect(throws: TrellisError.self) { try await reader.next() }
        #expect(try await reader.next() == nil)
    }
}
