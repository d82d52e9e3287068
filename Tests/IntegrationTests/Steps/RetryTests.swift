import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// Attempts that fail on real connections are followed by other attempts.
@Suite(.timeLimit(.minutes(3)))
struct RetryTests {
    typealias Answer = LoopbackServer.Response

    /// Returns a policy that does not wait between attempts.
    private static func policy(_ retryLimit: Int = 2) -> RetryPolicy {
        var policy = RetryPolicy(retryLimit: retryLimit)
        policy.exponentialBackoffScale = .zero
        return policy
    }

    private func session() -> Session {
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: Self.policy())
        return Session(configuration: configuration)
    }

    @Test func unavailableServersAreAskedAgain() async throws {
        let count = Locked(0)
        let server = try LoopbackServer.http { _ in
            let number = count.next()
            return number < 3 ? Answer(503, headers: [(name: "Retry-After", value: "0")]) : .text("\(number)")
        }
        let session = session()
        let (data, response) = try await session.data(server.url("/"))
        #expect(String(decoding: data, as: UTF8.self) == "3")
        #expect(response.metrics.attemptCount == 3)
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    /// A lost response is followed by another attempt, although it is unknown how far the server has processed the request.
    @Test(arguments: ["cut off", "reset", "half a head"])
    func lostAnswers(_ how: String) async throws {
        let server = try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                if connection.ordinal > 2 {
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    continue
                }
                _ = request
                switch how {
                case "cut off": try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf")
                case "half a head": try connection.write("HTTP/1.1 200 O")
                default: return connection.reset()
                }
                return connection.close()
            }
        }
        let session = session()
        let (data, response) = try await session.data(server.url("/"))
        #expect(String(decoding: data, as: UTF8.self) == "ok")
        #expect(response.metrics.attemptCount == 3)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test(.trellis(.http { _ in Answer(503) }, .session { $0.steps.intercept(with: RetryTests.policy(1)) }))
    func aPostIsNotSentTwiceUnlessItHasAKey() async throws {
        let (session, server) = (try #require(Session.current), try #require(LoopbackServer.current))
        let post = Request("/never", method: .post, body: .string("once"))
        #expect(try await session.data(post).1.status == .serviceUnavailable)
        #expect(server.requests.count == 1)
        let key = try #require(HTTPField.Name("Idempotency-Key"))
        #expect(try await session.data(post.withHeader(key, "1")).1.metrics.attemptCount == 2)
        #expect(server.requests.count == 3)
        #expect(Set(server.requests.suffix(2).map { $0["Idempotency-Key"] }) == ["1"])
    }

    @Test(
        .trellis(
            .http { _ in Answer(503, headers: [(name: "Retry-After", value: "59")]) },
            .session { $0.steps.intercept(with: RetryTests.policy()) }))
    func aCancelledWaitEndsAtOnce() async throws {
        let session = try #require(Session.current)
        let waiting = LoopbackServer.Gate()
        let events = session.requestEvents
        let watching = Task {
            for await event in events { if case .retrying = event.kind { waiting.open() } }
        }
        let call = Task { try await session.data("/") }
        try await waiting.opened()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        watching.cancel()
    }

    @Test(
        .trellis(
            .http { request in
                guard let cookie = request["Cookie"] else {
                    return Answer(503, headers: [(name: "Set-Cookie", value: "seen=1")])
                }
                return .text(cookie)
            },
            .session {
                $0.steps.intercept(with: RetryTests.policy())
                $0.steps.cookies = CookieJar()
            }))
    func cookiesOfAnAttemptAreSentWithTheNext() async throws {
        let session = try #require(Session.current)
        #expect(try await session.string("/") == "seen=1")
    }
}
