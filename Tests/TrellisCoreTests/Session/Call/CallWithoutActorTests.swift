import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// Calls whose steps do not wait, and the moment when such a call continues with an actor.
@Suite(.timeLimit(.minutes(3)))
struct CallWithoutActorTests {
    /// The number of times that a retrier was asked.
    private final class Count: Sendable {
        let value = Locked(0)

        /// Returns a request with a retrier that asks for one more attempt.
        func request() -> Request {
            Request("http://localhost/").withRetrier(
                Retrier { _, context in
                    self.value.withLock { $0 += 1 }
                    return context.attempt == 1 ? .retry : .doNotRetry
                })
        }
    }

    private func text(_ session: Session, _ request: Request) async throws -> String {
        String(decoding: try await session.data(request).0, as: UTF8.self)
    }

    @Test func theStepsThatDoNotWaitAreKnown() {
        var steps = Steps()
        steps.adapters = [Adapter { request, _ in request }, BearerAuthentication(token: "t")]
        steps.intercept(with: RetryPolicy())
        steps.cookies = CookieJar()
        steps.circuitBreaker = CircuitBreaker()
        #expect(!AttachedSteps(steps).immediate.mayWait)
        steps.adapters.append(
            Adapter { request, context in
                try await context.wait(for: .zero)
                return request
            })
        #expect(AttachedSteps(steps).immediate.mayWait)
        steps.adapters = []
        steps.cookies = CookieFile(path: "/none")
        #expect(AttachedSteps(steps).immediate.mayWait)
    }

    /// A session that drains waits for a call whose exchange has ended and whose retrier has not decided yet.
    @Test(arguments: [true, false])
    func aRetryGoesOutWhileTheSessionDrains(_ hasFailed: Bool) async throws {
        let scripted = Scripted()
        let request = Count().request()
        async let outcome = Outcome { try await text(scripted.session, request) }
        let first = try await scripted.transport.nextAttempt()
        async let shutdown: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        first.connect()
        if hasFailed {
            first.fail(.exchangeFailed(.receive("reset")))
        } else {
            first.receiveHead(status: 503)
            first.end()
        }
        let second = try await scripted.transport.nextAttempt()
        second.respond("x")
        #expect(await outcome == .answer("x"))
        await shutdown
    }

    /// The exchange of a coded response has not failed when its body turns out to be damaged, which a session that drains must know of.
    @Test func aDamagedBodyIsRetriedWhileTheSessionDrains() async throws {
        let scripted = Scripted { $0.steps.cache = HTTPCache() }
        let request = Count().request()
        async let outcome = Outcome { try await text(scripted.session, request) }
        let first = try await scripted.transport.nextAttempt()
        async let shutdown: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        first.connect()
        first.receiveHead(headers: [.contentEncoding: "gzip", .cacheControl: "max-age=60"])
        first.receiveBody("no gzip")
        first.end()
        let second = try await scripted.transport.nextAttempt()
        second.respond("x")
        #expect(await outcome == .answer("x"))
        await shutdown
    }

    /// The session waits for no retrier of a coded response that is not damaged: its clock stands still.
    @Test func aCodedResponseEndsTheDrain() async throws {
        let scripted = Scripted { $0.steps.cache = HTTPCache() }
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAAC/8tIzcnJBwCGphA2BQAAAA=="))
        let request = Count().request()
        async let outcome = Outcome { try await text(scripted.session, request) }
        let first = try await scripted.transport.nextAttempt()
        async let shutdown: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        first.connect()
        first.receiveHead(headers: [.contentEncoding: "gzip", .cacheControl: "max-age=60"])
        first.receiveBody(coded)
        first.end()
        #expect(await outcome == .answer("hello"))
        await shutdown
    }

    /// A session that drains sends what a call in flight still needs, whatever surrounds the call.
    @Test(arguments: [true, false], [true, false])
    func aRedirectIsFollowedWhileTheSessionDrains(_ hasAdapter: Bool, _ isStream: Bool) async throws {
        let scripted = Scripted {
            if hasAdapter { $0.steps.adapters = [Adapter { request, _ in request.withHeader(.accept, "a/b") }] }
        }
        async let outcome = Outcome {
            guard isStream else { return try await text(scripted.session, Request("http://localhost/")) }
            return try await scripted.session.stream("http://localhost/").chunks.reduce(into: "") {
                $0 += String(decoding: $1, as: UTF8.self)
            }
        }
        let first = try await scripted.transport.nextAttempt()
        async let shutdown: Void = scripted.session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        first.connect()
        first.receiveHead(status: 302, headers: [.location: "/next"])
        first.end()
        let second = try await scripted.transport.nextAttempt()
        #expect(second.request.headers[.accept] == (hasAdapter ? "a/b" : nil))
        second.respond("x")
        #expect(await outcome == .answer("x"))
        await shutdown
    }

    /// A call that the session ends has no further attempt, and no retrier is asked.
    @Test func noRetrierIsAskedAboutACallThatTheSessionEnds() async throws {
        let (scripted, count) = (Scripted(), Count())
        let request = count.request()
        async let outcome = Outcome { try await text(scripted.session, request) }
        _ = try await scripted.transport.nextAttempt()
        await scripted.session.cancelAllRequests()
        #expect(await outcome == .failed(.cancelled(.explicitly)))
        #expect(count.value.withLock { $0 } == 0)
    }

    @Test func noRetrierIsAskedAfterTheDeadline() async throws {
        let (scripted, count) = (Scripted(), Count())
        let request = count.request().withTimeouts(Timeouts(total: .seconds(5)))
        async let outcome = Outcome { try await text(scripted.session, request) }
        _ = try await scripted.transport.nextAttempt()
        await scripted.advance(by: .seconds(5))
        #expect(await outcome == .failed(.timedOut(.total)))
        #expect(count.value.withLock { $0 } == 0)
    }

    /// An adapter may set a shorter limit for its attempt. The call's own time is not over then.
    @Test func aRetrierIsAskedAfterTheLimitOfAnAttempt() async throws {
        let (scripted, count) = (Scripted(), Count())
        let request = count.request().withTimeouts(Timeouts(total: .seconds(50))).withAdapter(
            Adapter { request, context in
                request.withTimeouts(Timeouts(total: .seconds(context.attempt == 1 ? 5 : 50)))
            })
        async let outcome = Outcome { try await text(scripted.session, request) }
        _ = try await scripted.transport.nextAttempt()
        await scripted.advance(by: .seconds(5))
        let second = try await scripted.transport.nextAttempt()
        second.respond("x")
        #expect(await outcome == .answer("x"))
        #expect(count.value.withLock { $0 } == 1)
    }

    /// The circuit of a host learns the outcome of a call without an actor.
    @Test func aCircuitOpensAndRefusesCalls() async throws {
        var configuration = SessionConfiguration()
        configuration.steps.circuitBreaker = CircuitBreaker(minimumRequests: 2)
        let transport = MockTransport { _ in MockResponse(status: 503) }
        let session = Session(configuration: configuration, transport: transport)
        for _ in 0..<2 { _ = try await session.data("http://a.example/") }
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/") }
        #expect(error?.kind == .circuitOpen)
        #expect(error?.url == "http://a.example/")
        #expect(transport.startedCount == 2)
    }
}
