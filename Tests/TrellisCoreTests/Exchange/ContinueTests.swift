import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore

/// A body that waits for `100 Continue`, with the time limit of the wait.
@Suite(.timeLimit(.minutes(3)))
struct ContinueTests {
    /// Returns a body that opens a gate when it is read.
    private static func body(_ begun: LoopbackServer.Gate = .init(), isReplayable: Bool = true) -> RequestBody {
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("body".utf8))
            continuation.finish()
        }
        guard isReplayable else {
            return .stream(
                chunks.map { chunk in
                    begun.open()
                    return chunk
                })
        }
        return .stream {
            begun.open()
            return AsyncStream<Data> { continuation in
                continuation.yield(Data("body".utf8))
                continuation.finish()
            }
        }
    }

    private static func request(_ body: RequestBody, wait: Duration? = .seconds(1)) -> Request {
        Request("http://wait.example/", method: .post, body: body).withContinueExpectation(waiting: wait)
    }

    /// RFC 9110, section 10.1.1.
    @Test func aRequestWithoutContentExpectsNothing() async throws {
        let transport = MockTransport { _ in .text("") }
        let session = Session(transport: transport)
        for method in [HTTPRequest.Method.get, .post] {
            _ = try await session.data(
                Request("http://a.example/", method: method, headers: [.expect: "100-continue", .from: "x"]))
        }
        #expect(transport.requests.map { $0.headers[.expect] } == [nil, nil])
        #expect(transport.requests.map { $0.headers[.from] } == ["x", "x"])
    }

    private func connected(
        _ scripted: Scripted, _ request: Request
    ) async throws -> (Task<Int, any Error>, ScriptedAttempt) {
        let answer = Task { try await scripted.session.data(request).1.status.code }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        await scripted.session.settle()
        return (answer, attempt)
    }

    @Test func theBodyWaitsForTheWord() async throws {
        let scripted = Scripted()
        let begun = LoopbackServer.Gate()
        let (answer, attempt) = try await connected(scripted, Self.request(Self.body(begun)))
        #expect(attempt.request.request.headers[.expect] == "100-continue")
        await scripted.advance(by: .milliseconds(999))
        attempt.receiveInformational(status: 103)
        await scripted.session.settle()
        #expect(!begun.isOpen)
        #expect(attempt.commands.isEmpty)
        attempt.receiveInformational(status: 100)
        try await attempt.wait(for: .finishSending)
        #expect(attempt.sentBody == Data("body".utf8))
        attempt.receiveHead(status: 204)
        attempt.end()
        #expect(try await answer.value == 204)
        #expect(attempt.count(of: .stopSending) == 0)
    }

    @Test(arguments: [1.0, 0.0, 30.0])
    func orUntilItsTimeIsOver(_ seconds: Double) async throws {
        let scripted = Scripted()
        let begun = LoopbackServer.Gate()
        let wait = Duration.seconds(seconds)
        let (answer, attempt) = try await connected(scripted, Self.request(Self.body(begun), wait: wait))
        if seconds > 0 {
            await scripted.advance(by: wait - .nanoseconds(1))
            #expect(!begun.isOpen)
        }
        scripted.clock.move(by: .nanoseconds(1))
        try await attempt.wait(for: .finishSending)
        // A late `100 Continue` has no effect.
        attempt.receiveInformational(status: 100)
        attempt.receiveHead(status: 200)
        attempt.end()
        #expect(try await answer.value == 200)
        #expect(attempt.sentBody == Data("body".utf8))
    }

    @Test(arguments: [200, 401, 413, 500])
    func anAnswerInItsPlaceIsTheAnswer(_ status: Int) async throws {
        let scripted = Scripted()
        let begun = LoopbackServer.Gate()
        let (answer, attempt) = try await connected(scripted, Self.request(Self.body(begun)))
        attempt.receiveHead(status: status)
        try await attempt.wait(for: .stopSending)
        await scripted.advance(by: .seconds(5))
        attempt.end()
        #expect(try await answer.value == status)
        #expect(!begun.isOpen, "the body must not be read")
        #expect(attempt.commands == [.stopSending])
    }

    @Test(arguments: [true, false])
    func a417IsFollowedByARequestWithoutTheExpectation(_ isReplayable: Bool) async throws {
        let scripted = Scripted()
        let body = Self.body(isReplayable: isReplayable)
        let (answer, attempt) = try await connected(scripted, Self.request(body))
        attempt.receiveHead(status: 417)
        let second = try await scripted.transport.nextAttempt()
        #expect(attempt.commands == [.cancel])
        #expect(second.request.request.headers[.expect] == nil)
        second.connect()
        try await second.wait(for: .finishSending)
        #expect(second.sentBody == Data("body".utf8))
        // The request is not sent a third time.
        second.receiveHead(status: 417)
        second.end()
        #expect(try await answer.value == 417)
    }

    @Test func a417IsTheAnswerToARequestThatIsSentOnce() async throws {
        let scripted = Scripted()
        var request = Self.request(Self.body())
        request.isSentOnce = true
        let (answer, attempt) = try await connected(scripted, request)
        attempt.receiveHead(status: 417)
        attempt.end()
        #expect(try await answer.value == 417)
        #expect(attempt.commands == [.stopSending])
    }

    /// The cancelled attempt still runs to its end.
    @Test func theRestOfA417ThatIsNotWantedChangesNothing() async throws {
        let transport = EarlyTransport { number, _, events in
            events.transportIsConnected()
            events.transportDidReceiveHead(ResponseHead(status: number == 1 ? .expectationFailed : .ok))
            [1, 2, 3].withBytes { events.transportDidReceiveBody($0) }
            events.transportDidEnd(TransportEnd())
        }
        let session = Session(transport: transport)
        let (data, response) = try await session.data(Self.request(Self.body()))
        #expect(response.status == .ok && data == Data([1, 2, 3]))
        #expect(transport.attempts.map { $0.request.headers[.expect] } == ["100-continue", nil])
    }

    @Test(arguments: [true, false])
    func a417BehindTheBodyIsFollowedByAnotherRequestWhereTheBodyCanBeMadeAgain(_ isReplayable: Bool) async throws {
        let scripted = Scripted()
        let (answer, attempt) = try await connected(scripted, Self.request(Self.body(isReplayable: isReplayable)))
        attempt.receiveInformational(status: 100)
        try await attempt.wait(for: .finishSending)
        attempt.receiveHead(status: 417)
        guard isReplayable else {
            attempt.end()
            #expect(try await answer.value == 417)
            return
        }
        let second = try await scripted.transport.nextAttempt()
        second.connect()
        try await second.wait(for: .finishSending)
        second.receiveHead(status: 200)
        second.end()
        #expect(try await answer.value == 200)
    }

    @Test func withoutABodyThereIsNothingToWaitWith() async throws {
        let scripted = Scripted()
        let request = Request("http://wait.example/").withContinueExpectation()
        let (answer, attempt) = try await connected(scripted, request)
        #expect(attempt.request.request.headers[.expect] == nil)
        attempt.receiveHead(status: 204)
        attempt.end()
        #expect(try await answer.value == 204)
    }

    @Test func aCancelledRequestNoLongerWaits() async throws {
        let scripted = Scripted()
        let begun = LoopbackServer.Gate()
        let (answer, attempt) = try await connected(scripted, Self.request(Self.body(begun)))
        answer.cancel()
        try await attempt.wait(for: .cancel)
        await scripted.advance(by: .seconds(5))
        #expect(!begun.isOpen)
        let timers = await scripted.timerCount
        #expect(timers == 0)
        await #expect(throws: CancellationError.self) { try await answer.value }
    }

    @Test func aRedirectInItsPlaceTakesTheBodyAlong() async throws {
        let scripted = Scripted()
        let (answer, attempt) = try await connected(scripted, Self.request(Self.body(isReplayable: false)))
        attempt.receiveHead(status: 307, headers: [.location: "/elsewhere"])
        attempt.end()
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .bodyNotReplayable || error?.kind == .redirectRefused)
    }
}
