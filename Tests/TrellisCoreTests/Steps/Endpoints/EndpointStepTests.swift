import CurlEngine
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Sessions whose origin has several endpoints.
@Suite(.timeLimit(.minutes(3)))
struct EndpointStepTests {
    /// A session on a scripted transport whose origin `http://a.example` has the endpoints `one`, `two` and `three`.
    struct World {
        let scripted: Scripted

        init(
            _ hosts: [String] = ["one", "two", "three"], _ policy: EndpointPolicy = .roundRobin,
            _ change: (inout SessionConfiguration) -> Void = { _ in }
        ) throws {
            let pool = EndpointPool(try hosts.map { try Endpoint($0) }, policy: policy)
            scripted = Scripted {
                $0.endpoints["http://a.example/"] = pool
                change(&$0)
            }
        }

        var session: Session { scripted.session }
        /// The numbers of requests in flight to each endpoint.
        var inFlight: [Int] { session.endpoints?.all.first?.members.map(\.inFlight) ?? [] }
        var ejected: [String] {
            session.endpoints?.all.first?.members.filter(\.health.isEjected).map(\.endpoint.host) ?? []
        }

        /// Sends a request, and returns the attempt.
        func send(_ request: Request = Request("http://a.example/")) async throws -> (
            Task<Response, any Error>, ScriptedAttempt
        ) {
            let task = Task { [session] in try await session.data(request).1 }
            return (task, try await scripted.transport.nextAttempt())
        }

        /// Sends a request that gets a status, and returns the events about endpoints.
        func exchange(status: Int = 200) async throws {
            let (task, attempt) = try await send()
            attempt.respond(status: status)
            _ = try await task.value
        }
    }

    /// Returns the words of the events that are about endpoints.
    func words(_ session: Session, while work: () async throws -> Void) async throws -> [String] {
        let events = session.requestEvents
        try await work()
        await session.shutdown()
        let names = ["endpoint ", "ejected ", "returned ", "circuit"]
        return await events.reduce(into: []) { words, event in
            if names.contains(where: event.word.hasPrefix) { words.append(event.word) }
        }
    }

    // MARK: The choice

    @Test func eachRequestGoesToAnEndpointAndLeavesIt() async throws {
        let world = try World()
        let words = try await words(world.session) {
            for _ in 0..<4 { try await world.exchange() }
            let (task, attempt) = try await world.send()
            #expect(world.inFlight == [0, 1, 0])
            attempt.respond()
            _ = try await task.value
            #expect(world.inFlight == [0, 0, 0])
        }
        #expect(words == ["endpoint one", "endpoint two", "endpoint three", "endpoint one", "endpoint two"])
    }

    @Test func otherOriginsHaveNoEndpoints() async throws {
        let world = try World()
        let words = try await words(world.session) {
            for url in ["https://a.example/", "http://a.example:8080/", "http://b.example/"] {
                let (task, attempt) = try await world.send(Request(url))
                attempt.respond()
                _ = try await task.value
            }
        }
        #expect(words.isEmpty)
    }

    @Test(arguments: ["http://A.example:80/x?y=z", "http://a.example/"])
    func theOriginOfTheURLCounts(_ url: String) async throws {
        let world = try World()
        let words = try await words(world.session) {
            let (task, attempt) = try await world.send(Request(url))
            attempt.respond()
            _ = try await task.value
        }
        #expect(words == ["endpoint one"])
    }

    @Test func aRouteThatLeadsElsewhereGoesBeforeTheEndpoints() async throws {
        let world = try World()
        var (other, socket) = (Route(), Route())
        other.connectTo = [try ConnectTo("a.example:80:b.example:81")]
        socket.unixSocket = try .path("/s")
        let words = try await words(world.session) {
            for route in [other, socket] {
                let (task, attempt) = try await world.send(Request("http://a.example/").withRoute(route))
                attempt.respond()
                _ = try await task.value
            }
        }
        #expect(words.isEmpty)
    }

    @Test func theRequestOfTheAnswerIsSentAnywhere() async throws {
        let seen = Locked<[Route?]>([])
        let world = try World {
            $0.steps.intercept(
                with: Retrier { attempt, _ in
                    seen.withLock { $0.append(attempt.request.route) }
                    return .doNotRetry
                })
        }
        try await world.exchange(status: 503)
        #expect(seen.withLock { $0 } == [nil])
    }

    @Test func eachHopHasAnEndpoint() async throws {
        let world = try World()
        let words = try await words(world.session) {
            let (task, attempt) = try await world.send()
            attempt.respond(status: 302, headers: [.location: "/new"])
            try await world.scripted.transport.nextAttempt().respond()
            _ = try await task.value
        }
        #expect(words == ["endpoint one", "endpoint two"])
    }

    // MARK: Retries and hedging

    /// Without the first attempt, the key would lead the retry to the same endpoint.
    @Test func aRetryGoesToAnotherEndpointAndTheNextCallToItsOwn() async throws {
        let world = try World(["one", "two"], .sticky(by: EndpointKey { _ in "key" })) {
            $0.steps.intercept(with: Retrier { _, context in context.attempt < 3 ? .retry : .doNotRetry })
        }
        let words = try await words(world.session) {
            let (task, attempt) = try await world.send()
            attempt.respond(status: 503)
            try await world.scripted.transport.nextAttempt().respond()
            _ = try await task.value
            try await world.exchange()
        }
        #expect(Set(words.prefix(2)) == ["endpoint one", "endpoint two"] && words.count == 3)
        #expect(words.first == words.last)
    }

    @Test func aHedgeGoesToAnotherEndpointAndTheLoserLeavesItsPlace() async throws {
        let world = try World(["one", "two"], .sticky(by: EndpointKey { _ in "key" })) {
            $0.steps.hedging = HedgingPolicy(after: .seconds(1))
        }
        let (task, slow) = try await world.send()
        slow.connect()
        await world.scripted.clock.waitForSleepers()
        await world.scripted.advance(by: .seconds(1))
        let hedge = try await world.scripted.transport.nextAttempt()
        #expect(world.inFlight == [1, 1])
        hedge.respond()
        _ = try await task.value
        try await slow.wait(for: .cancel)
        await world.session.shutdown()
        #expect(world.inFlight == [0, 0])
    }

    // MARK: Places

    @Test func aCancelledRequestLeavesItsPlace() async throws {
        let world = try World { $0.limits.total = 1 }
        let (first, attempt) = try await world.send()
        let second = Task { try await world.session.data("http://a.example/") }
        while world.inFlight != [1, 1, 0], !Task.isCancelled { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        while world.inFlight != [1, 0, 0], !Task.isCancelled { await Task.yield() }
        attempt.respond()
        _ = try await first.value
        #expect(world.inFlight == [0, 0, 0])
    }

    @Test func aStreamHasItsPlaceUntilItHasBeenRead() async throws {
        let world = try World(["one"]) { $0.steps.adaptiveConcurrency = AdaptiveConcurrency() }
        let opening = Task { try await world.session.stream("http://a.example/") }
        let attempt = try await world.scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        let stream = try await opening.value
        await world.session.settle()
        #expect(world.inFlight == [1])
        attempt.receiveBody("x")
        attempt.end()
        #expect(try await stream.chunks.collect(upTo: 100).count == 1)
        await world.session.settle()
        #expect(world.inFlight == [0])
        #expect(world.session.configuration.steps.adaptiveConcurrency?.hosts.map(\.inFlight) == [0])
    }

    @Test func aStreamThatIsDroppedLeavesItsPlace() async throws {
        let world = try World(["one"])
        let opening = Task { _ = try await world.session.stream("http://a.example/") }
        let attempt = try await world.scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        try await opening.value
        try await attempt.wait(for: .cancel)
        await world.session.settle()
        #expect(world.inFlight == [0])
    }

    @Test func aHandleThatIsSuspendedAndThenCancelledLeavesItsPlace() async throws {
        let world = try World(["one"])
        let request = world.session.request("http://a.example/")
        request.resume()
        let attempt = try await world.scripted.transport.nextAttempt()
        request.suspend()
        try await attempt.wait(for: .suspend(true))
        #expect(world.inFlight == [1])
        request.cancel()
        try await attempt.wait(for: .cancel)
        while world.inFlight != [0], !Task.isCancelled { await Task.yield() }
    }

    // MARK: Ejection

    @Test func anEndpointThatFailsIsEjectedAndReturnsAfterATest() async throws {
        let world = try World(["one", "two"]) { $0.endpoints["http://a.example/"]?.ejection?.consecutiveFailures = 2 }
        let words = try await words(world.session) {
            for status in [503, 200, 503] { try await world.exchange(status: status) }
            #expect(world.ejected == ["one"])
            for _ in 0..<2 { try await world.exchange() }
            world.scripted.clock.move(by: .seconds(10))
            for _ in 0..<2 { try await world.exchange() }
            #expect(world.ejected == [])
        }
        #expect(words.contains("ejected one \(Duration.seconds(10))") && words.contains("returned one"))
        #expect(words.count { $0 == "endpoint one" } == 3)
    }

    @Test func anErrorNamesItsEndpoint() async throws {
        let world = try World(["one:81"])
        let (task, attempt) = try await world.send()
        attempt.connect()
        attempt.fail(.exchangeFailed(.receive("reset")))
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.detail?.hasSuffix("at the endpoint one:81") == true)
        #expect(world.inFlight == [0])
    }

    @Test func theCircuitOfAnEndpointKeepsRequestsFromItAlone() async throws {
        let world = try World(["one", "two"]) {
            $0.steps.circuitBreaker = CircuitBreaker(failureRatio: 0.3, minimumRequests: 1)
        }
        let words = try await words(world.session) {
            try await world.exchange(status: 503)
            try await world.exchange()
            try await world.exchange(status: 503)
            let error = await #expect(throws: TrellisError.self) { try await world.session.data("http://a.example/") }
            #expect(error?.kind == .circuitOpen && error?.description.contains("a.example at ") == true)
        }
        let chosen = words.filter { $0.hasPrefix("endpoint") }
        #expect(chosen.prefix(3) == ["endpoint one", "endpoint two", "endpoint two"] && chosen.count == 4)
        #expect(words.contains("circuitOpened a.example at one \(Duration.seconds(5))"))
        #expect(world.inFlight == [0, 0])
    }

    // MARK: Mistakes

    @Test func anEmptyPoolIsAnErrorThatSaysSo() async throws {
        let world = try World([])
        let error = await #expect(throws: TrellisError.self) { try await world.session.data("http://a.example/") }
        #expect(error?.kind == .noEndpoint && error?.mayHaveSentBytes == false && error?.method == .get)
        #expect(error?.description.contains("http://a.example has no endpoint") == true)
    }

    @Test func aKeyThatNamesNoOriginMakesEveryRequestFail() async throws {
        let scripted = Scripted { $0.endpoints["a.example"] = EndpointPool([]) }
        let error = await #expect(throws: TrellisError.self) { try await scripted.session.data("http://b.example/") }
        #expect(error?.kind == .invalidRequest && error?.description.contains("\"a.example\"") == true)
    }
}
