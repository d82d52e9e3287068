import CurlEngine
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The field with the time that is left, on requests of a session.
@Suite(.timeLimit(.minutes(3)))
struct SentDeadlineTests {
    /// A session that tells its servers how many milliseconds are left of ten seconds.
    private struct World {
        let clock = TestClock()
        let transport: MockTransport
        let session: Session

        init(
            field: DeadlineField = .milliseconds("X-Left"), _ change: (inout SessionConfiguration) -> Void = { _ in },
            answering answer: @escaping @Sendable (TransportRequest) -> MockResponse = { _ in MockResponse() }
        ) {
            var configuration = SessionConfiguration()
            configuration.timeouts.total = .seconds(10)
            configuration.timeouts.deadlineField = field
            change(&configuration)
            transport = MockTransport { answer($0) }
            session = Session(configuration: configuration, transport: transport, clock: clock)
        }

        /// The values of the field on the requests so far.
        var values: [String?] { transport.requests.map { $0.headers["X-Left"] } }
    }

    @Test func aRetryHasWhatIsLeft() async throws {
        let retrier = Retrier { _, context in context.attempt == 1 ? .retryWithDelay(.seconds(3)) : .doNotRetry }
        let world = World({ $0.steps.retriers = [retrier] }, answering: { _ in MockResponse(status: 503) })
        let task = Task { try await world.session.data("http://a.example/") }
        await world.clock.waitForSleepers()
        world.clock.move(by: .seconds(3))
        _ = try await task.value
        #expect(world.values == ["10000", "7000"])
    }

    @Test func theTimeInTheQueueCounts() async throws {
        let scripted = Scripted {
            $0.limits.total = 1
            $0.timeouts.total = .seconds(10)
            $0.timeouts.deadlineField = .milliseconds("X-Left")
        }
        let (blocker, blocking) = try await scripted.block()
        let second = Task { try await scripted.session.string("http://localhost/") }
        await scripted.waitUntilLive(count: 2)
        await scripted.advance(by: .milliseconds(2500))
        blocking.respond()
        _ = try await blocker.data()
        let attempt = try await scripted.transport.nextAttempt()
        #expect(attempt.request.headers["X-Left"] == "7500")
        attempt.respond("served")
        #expect(try await second.value == "served")
    }

    @Test func anotherOriginDoesNotLearnIt() async throws {
        let world = World(answering: { request in
            request.url.hasPrefix("http://a.example")
                ? MockResponse(status: 302, headers: ["Location": "http://b.example/"]) : MockResponse()
        })
        _ = try await world.session.data("http://a.example/")
        #expect(world.values == ["10000", nil])
        var request = Request("http://a.example/")
        var field = DeadlineField.milliseconds("X-Left")
        field.crossesOrigins = true
        request.timeouts = Timeouts()
        request.timeouts?.deadlineField = field
        _ = try await world.session.data(request)
        #expect(world.values.suffix(2) == ["10000", "10000"])
    }

    @Test func aFieldOfTheRequestOrOfTheSessionIsReplaced() async throws {
        let world = World { $0.defaultHeaders["X-Left"] = "1" }
        _ = try await world.session.data("http://a.example/")
        _ = try await world.session.data("http://a.example/", headers: ["x-left": "2", "X-Other": "3"])
        #expect(world.values == ["10000", "10000"])
        for request in world.transport.requests {
            let lines = request.wire.headerLines.map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
            #expect(!lines.lowercasedASCII().contains("x-left"))
            #expect(!lines.isEmpty)
        }
    }

    @Test func withoutATotalNothingIsSaid() async throws {
        let world = World()
        _ = try await world.session.data("http://a.example/", timeouts: .endless)
        #expect(world.values == [nil])
    }

    @Test func aNameThatIsNoTokenIsAnError() async {
        let world = World(field: .milliseconds("X Left"))
        let error = await #expect(throws: TrellisError.self) { try await world.session.data("http://a.example/") }
        #expect(error?.reason == .invalidRequest(.headerField("X Left")))
    }

    /// What the field says is known only after the signers, which must not sign another value.
    @Test func aSignerDoesNotSeeTheField() async throws {
        struct Witness: RequestSigner {
            func sign(_ request: inout WireRequest, context: CallContext) async throws {
                request.headers["X-Seen"] = request.headers["X-Left"] ?? "none"
            }
        }
        let world = World { $0.steps.signers = [Witness()] }
        _ = try await world.session.data("http://a.example/", headers: ["X-Left": "1"])
        #expect(world.values == ["10000"])
        #expect(world.transport.requests.first?.headers["X-Seen"] == "none")
    }

    /// A clock of a test waits for the peers of its calls.
    @Test func aRequestThatChangesOnItsWayKeepsItsCall() throws {
        let world = World()
        let clock = world.session.clock
        let prepared = try world.session.preparation.prepare(
            Request("http://a.example/"), delivery: .memory, start: clock.now(), callID: 7)
        #expect(prepared.withDeadline(prepared, on: clock).callNumber == 7)
        #expect(prepared.withoutExpectation.callNumber == 7)
        #expect(prepared.withoutCall.callNumber == 0)
    }

    /// A wire computes the value once more, when it writes the head.
    @Test func theWireGetsTheValueOfItsInstant() async throws {
        let world = World()
        _ = try await world.session.data("http://a.example/")
        let lines = try #require(world.transport.requests.first?.wire.lateLines)
        #expect(String(decoding: lines().bytes, as: UTF8.self) == "X-Left: 10000\0")
        world.clock.move(by: .milliseconds(4001))
        #expect(String(decoding: lines().bytes, as: UTF8.self) == "X-Left: 5999\0")
        world.clock.move(by: .seconds(60))
        #expect(String(decoding: lines().bytes, as: UTF8.self) == "X-Left: 1\0")
    }
}
