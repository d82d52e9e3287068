import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The limit on the requests in flight to an origin, on a transport that makes no connections.
@Suite(.timeLimit(.minutes(3)))
struct RequestLimitTests {
    private let scripted = Scripted { $0.limits.requestsPerOrigin = 2 }

    private func start(_ urls: [String]) async -> [Task<Int, any Error>] {
        var tasks: [Task<Int, any Error>] = []
        let count = await scripted.liveCount
        for url in urls {
            tasks.append(Task { [session = scripted.session] in try await session.data(url).1.status.code })
            await scripted.waitUntilLive(count: count + tasks.count)
        }
        return tasks
    }

    @Test func aTransportOfATestObeysIt() async throws {
        let tasks = await start((1...4).map { "http://localhost/\($0)" } + ["http://other.example/"])
        var attempts: [ScriptedAttempt] = []
        for _ in 0..<3 { attempts.append(try await scripted.transport.nextAttempt()) }
        await scripted.session.settle()
        #expect(
            scripted.transport.attempts.map(\.request.url) == [
                "http://localhost/1", "http://localhost/2", "http://other.example/",
            ])
        for index in 3...4 {
            let first = attempts.removeFirst()
            first.respond(status: 200)
            attempts.append(try await scripted.transport.nextAttempt())
            #expect(attempts.last?.request.url == "http://localhost/\(index)")
            await scripted.session.settle()
            #expect(scripted.transport.attempts.count == index + 1)
        }
        for attempt in attempts { attempt.respond(status: 200) }
        for task in tasks { #expect(try await task.value == 200) }
    }

    @Test func aStreamCountsUntilItsBodyHasEnded() async throws {
        let first = Task { [session = scripted.session] in try await session.stream("http://localhost/1") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.receiveHead(status: 200)
        let stream = try await first.value
        let tasks = await start(["http://localhost/2", "http://localhost/3"])
        let second = try await scripted.transport.nextAttempt()
        await scripted.session.settle()
        #expect(scripted.transport.attempts.count == 2)
        stream.cancel()
        let third = try await scripted.transport.nextAttempt()
        #expect(third.request.url == "http://localhost/3")
        for attempt in [second, third] { attempt.respond(status: 200) }
        for task in tasks { #expect(try await task.value == 200) }
    }

    @Test func theErrorOfARequestThatWaitedTooLongNamesTheLimit() async throws {
        let tasks = await start(["http://localhost/1", "http://localhost/2"])
        for _ in 0..<2 { _ = try await scripted.transport.nextAttempt() }
        let hurried = Request("http://localhost/3").withTimeouts(Timeouts(total: .seconds(5)))
        let late = Task { [session = scripted.session] in try await session.data(hurried) }
        await scripted.waitUntilLive(count: 3)
        await scripted.advance(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await late.value }
        #expect(error?.phase == .queued)
        #expect(
            error?.description.hasSuffix(
                "2 requests to http://localhost are in flight, which is the limit, and it is next") == true)
        for task in tasks { task.cancel() }
    }
}
