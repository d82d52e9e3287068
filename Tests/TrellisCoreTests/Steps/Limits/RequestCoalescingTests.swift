import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The shared response of all calls with the same request.
@Suite(.timeLimit(.minutes(3)))
struct RequestCoalescingTests {
    let clock = TestClock()
    let transport: ScriptedTransport
    let flight = RequestCoalescing()
    let session: Session

    init() {
        var configuration = SessionConfiguration()
        configuration.steps.application = [flight]
        transport = ScriptedTransport(clock: clock)
        session = Session(configuration: configuration, transport: transport, clock: clock)
    }

    /// Sends a request, and returns when this number of calls wait.
    func ask(
        _ request: Request = Request("http://a.example/"), waiting count: Int
    ) async -> Task<(Data, Response), any Error> {
        let task = Task { try await session.data(request) }
        await settle(waiting: count)
        return task
    }

    func settle(waiting count: Int) async {
        while flight.waitingCount != count, !Task.isCancelled { await Task.yield() }
        await session.settle()
    }

    @Test func oneRequestGoesOutAndAllGetItsAnswer() async throws {
        var tasks: [Task<(Data, Response), any Error>] = []
        for count in 1...5 { tasks.append(await ask(waiting: count)) }
        try await transport.nextAttempt().respond("shared")
        for task in tasks { #expect(String(decoding: try await task.value.0, as: UTF8.self) == "shared") }
        #expect(transport.attempts.count == 1)
        // The next call starts a new request.
        let next = await ask(waiting: 1)
        try await transport.nextAttempt().respond("new")
        #expect(String(decoding: try await next.value.0, as: UTF8.self) == "new")
    }

    @Test(arguments: [
        Request("http://a.example/", headers: [.authorization: "Bearer other"]), Request("http://a.example/other"),
        Request("http://a.example/", method: .head), Request("http://a.example/").withTimeouts(Timeouts(total: nil)),
        Request("http://a.example/").withAdapter(Adapter { request, _ in request }),
    ])
    func whatDiffersGoesOutForItself(_ request: Request) async throws {
        let one = await ask(waiting: 1)
        let other = await ask(request, waiting: 2)
        for _ in 0..<2 { try await transport.nextAttempt().respond("") }
        _ = try await (one.value, other.value)
    }

    @Test func whatIsNotSafeAndStreamsAreNotShared() async throws {
        let post = Task { try await session.data(Request("http://a.example/", method: .post)) }
        let first = try await transport.nextAttempt()
        let stream = Task { try await session.stream("http://a.example/") }
        let second = try await transport.nextAttempt()
        #expect(flight.waitingCount == 0)
        first.respond("shared")
        second.respond("shared")
        _ = try await post.value
        _ = try await stream.value.finalResponse()
    }

    @Test func copiesOfARequestWithStepsOfItsOwnAreTheSame() async throws {
        let request = Request("http://a.example/").withAdapter(Adapter { request, _ in request })
        let tasks = [await ask(request, waiting: 1), await ask(request, waiting: 2)]
        try await transport.nextAttempt().respond("shared")
        for task in tasks { _ = try await task.value }
        #expect(transport.attempts.count == 1)
    }

    @Test func sessionsDoNotShare() async throws {
        var configuration = SessionConfiguration()
        configuration.defaultHeaders[.authorization] = "Bearer other"
        configuration.steps.application = [flight]
        let other = Session(configuration: configuration, transport: transport, clock: clock)
        let one = await ask(waiting: 1)
        let two = Task { try await other.data("http://a.example/") }
        for _ in 0..<2 { try await transport.nextAttempt().respond("shared") }
        _ = try await (one.value, two.value)
    }

    /// A call with another user's credential does not get the response to the first user, whose request is still under way.
    @Test(arguments: [false, true])
    func aCredentialThatIsSetBeginsARequestOfItsOwn(isNested: Bool) async throws {
        let interceptor = AuthenticationInterceptor(authenticator: TokenAuthenticator(), credential: Token("a"))
        var configuration = SessionConfiguration()
        configuration.steps.application = [flight]
        configuration.steps.intercept(with: isNested ? Interceptor(interceptors: [interceptor]) : interceptor)
        let other = Session(configuration: configuration, transport: transport, clock: clock)
        let first = Task { try await other.data("http://a.example/") }
        let one = try await transport.nextAttempt()
        interceptor.credential = Token("b")
        let second = Task { try await other.data("http://a.example/") }
        let two = try await transport.nextAttempt()
        let fields = [one, two].map { $0.request.request.headers[.authorization] }
        #expect(fields == ["Bearer a", "Bearer b"])
        for attempt in [one, two] { attempt.respond("shared") }
        _ = try await (first.value, second.value)
    }

    @Test func theFirstMayLeave() async throws {
        let first = await ask(waiting: 1)
        let second = await ask(waiting: 2)
        let attempt = try await transport.nextAttempt()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await settle(waiting: 1)
        #expect(attempt.count(of: .cancel) == 0)
        attempt.respond("shared")
        #expect(try await second.value.1.status == .ok)
    }

    @Test func theLastToLeaveEndsTheRequest() async throws {
        let tasks = [await ask(waiting: 1), await ask(waiting: 2)]
        let attempt = try await transport.nextAttempt()
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        try await attempt.wait(for: .cancel)
        // A later call does not get the abandoned request.
        let next = await ask(waiting: 1)
        try await transport.nextAttempt().respond("shared")
        _ = try await next.value
    }

    @Test func whoIsCancelledAlreadyStartsNothing() async throws {
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { _ = try await session.data("http://a.example/") }
                try await group.waitForAll()
            }
        }
        await settle(waiting: 0)
    }

    @Test func aFailureIsEverybodys() async throws {
        let tasks = [await ask(waiting: 1), await ask(waiting: 2)]
        try await transport.nextAttempt().fail(.exchangeFailed(.receive("reset")))
        for task in tasks {
            let error = await #expect(throws: TrellisError.self) { try await task.value }
            #expect(error?.kind == .receive)
        }
    }

    @Test func itGoesOnAsLongAsAnybodyHasTime() async throws {
        let request = Request("http://a.example/").withTimeouts(
            Timeouts(responseHead: nil, idle: nil, total: .seconds(10)))
        let first = await ask(request, waiting: 1)
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        clock.move(by: .seconds(8))
        let second = await ask(request, waiting: 2)
        clock.move(by: .seconds(2))
        let error = await #expect(throws: TrellisError.self) { try await first.value }
        #expect(error?.kind == .totalTimeout)
        #expect(
            error?.description
                == "GET http://a.example/: timed out (total) after 10.0 s waiting for its turn: "
                + "an identical request is under way, and its response has not come")
        await settle(waiting: 1)
        clock.move(by: .seconds(7))
        await session.settle()
        #expect(attempt.count(of: .cancel) == 0)
        attempt.receiveHead(status: 200)
        attempt.end()
        #expect(try await second.value.1.status == .ok)
    }

    @Test func theLastDeadlineEndsTheRequest() async throws {
        let task = await ask(Request("http://a.example/").withTimeouts(Timeouts(total: .seconds(10))), waiting: 1)
        let attempt = try await transport.nextAttempt()
        clock.move(by: .seconds(10))
        await #expect(throws: TrellisError.self) { try await task.value }
        try await attempt.wait(for: .cancel)
    }

    /// Joining a flight does not copy the waiters: a copy would make each new waiter cost as much as all before it.
    @Test func joiningCopiesNobody() async throws {
        var tasks: [Task<(Data, Response), any Error>] = []
        var (address, moves) = (UInt(0), 0)
        for count in 1...200 {
            tasks.append(await ask(waiting: count))
            let now = try storageAddress("state", "value", "flights", "*", "waiters", in: flight)
            if now != address { moves += 1 }
            address = now
        }
        // The table moves only as it grows, to twice the size each time.
        #expect(moves <= 10)
        try await transport.nextAttempt().respond("shared")
        for task in tasks { _ = try await task.value }
    }

    @Test func itIsAnEventAndACallOfItsOwn() async throws {
        let events = session.requestEvents
        let task = await ask(waiting: 1)
        try await transport.nextAttempt().respond("shared")
        _ = try await task.value
        var own: [String] = []
        var shared: [String] = []
        var (ownID, sharedID) = (UInt64?.none, UInt64?.none)
        for await event in events {
            ownID = ownID ?? event.callID
            if case .coalesced(let id) = event.kind { sharedID = id }
            if event.callID == ownID { own.append(event.word) } else { shared.append(event.word) }
            if event.callID == ownID, event.word == "finished 200" { break }
        }
        #expect(own == ["created", "coalesced", "finished 200"])
        #expect(
            shared == ["created", "queued", "admitted", "connected", "sent", "head 200", "ended", "finished 200"])
        #expect(sharedID != ownID)
    }
}
