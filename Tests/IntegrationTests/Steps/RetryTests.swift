import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// Attempts that fail on real connections are followed by other attempts.
@Suite(.timeLimit(.minutes(1)))
struct RetryTests {
    typealias Answer = LoopbackServer.Response

    private func session(_ retryLimit: Int = 2) -> Session {
        var policy = RetryPolicy(retryLimit: retryLimit)
        policy.exponentialBackoffScale = .zero
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: policy)
        return Session(configuration: configuration)
    }

    @Test func unavailableServersAreAskedAgain() async throws {
        let count = Locked(0)
        let server = try LoopbackServer.http { _ in
            let number = count.withLock {
                $0 += 1; return $0
            }
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

    @Test func aPostIsNotSentTwiceUnlessItHasAKey() async throws {
        let server = try LoopbackServer.http { request in
            request["Idempotency-Key"] == nil || request.path == "/never" ? Answer(503) : .text("ok")
        }
        let session = session(1)
        let post = Request(server.url("/never"), method: .post, body: .string("once"))
        #expect(try await session.data(post).1.status == .serviceUnavailable)
        #expect(server.requests.count == 1)
        let key = try #require(HTTPField.Name("Idempotency-Key"))
        #expect(try await session.data(post.withHeader(key, "1")).1.metrics.attemptCount == 2)
        #expect(server.requests.count == 3)
        #expect(Set(server.requests.suffix(2).map { $0["Idempotency-Key"] }) == ["1"])
        await session.shutdown()
    }

    @Test func aCancelledWaitEndsAtOnce() async throws {
        let server = try LoopbackServer.http { _ in Answer(503, headers: [(name: "Retry-After", value: "59")]) }
        let session = session()
        let waiting = LoopbackServer.Gate()
        let events = session.requestEvents
        let watching = Task {
            for await event in events { if case .retrying = event.kind { waiting.open() } }
        }
        let call = Task { try await session.data(server.url("/")) }
        try await waiting.opened()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        watching.cancel()
        await session.shutdown()
    }

    @Test func cookiesOfAnAttemptAreSentWithTheNext() async throws {
        let server = try LoopbackServer.http { request in
            request["Cookie"] == nil
                ? Answer(503, headers: [(name: "Set-Cookie", value: "seen=1")]) : .text(request["Cookie"] ?? "")
        }
        var policy = RetryPolicy()
        policy.exponentialBackoffScale = .zero
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: policy)
        configuration.steps.cookies = CookieJar()
        let session = Session(configuration: configuration)
        #expect(try await session.string(server.url("/")) == "seen=1")
        await session.shutdown()
    }
}
