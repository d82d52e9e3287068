import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The order of the requests that wait for a connection, by priority.
@Suite(.timeLimit(.minutes(3)))
struct RequestPriorityTests {
    @Test func withinAnOriginTheHigherPriorityGoesFirst() {
        var queue = ConnectionSchedulerTests.queue(total: 1)
        #expect(queue.enter("z", origin: "a") == true)
        let priorities: [(String, RequestPriority)] = [
            ("low", .low), ("normal", .normal), ("high", .high), ("normal2", .normal), ("high2", .high),
        ]
        for (name, priority) in priorities { #expect(queue.enter(name, origin: "a", priority: priority) == false) }
        #expect(queue.countAhead(of: "low", origin: "a") == 4)
        #expect(queue.countAhead(of: "high2", origin: "a") == 1)
        let order = priorities.flatMap { _ in queue.release("", origin: "a", isShared: false) }
        #expect(order == ["high", "high2", "normal", "normal2", "low"])
    }

    @Test func originsTakeTurnsWhateverTheirPriorities() {
        var queue = ConnectionSchedulerTests.queue(total: 1)
        #expect(queue.enter("z", origin: "z") == true)
        for name in ["a1", "a2", "b1"] {
            let priority = name.hasPrefix("b") ? RequestPriority.low : .high
            #expect(queue.enter(name, origin: String(name.prefix(1)), priority: priority) == false)
        }
        #expect(queue.release("", origin: "z", isShared: false) == ["a1"])
        #expect(queue.release("", origin: "a", isShared: false) == ["b1"])
    }

    @Test func prioritiesAreOrdered() {
        #expect(RequestPriority.allCases.sorted() == [.low, .normal, .high])
        #expect(Request("/").priority == .normal)
        #expect(Request("/").withPriority(.high).priority == .high)
    }

    /// A server learns a priority only if the caller wants that.
    @Test(arguments: [(.low, "u=5"), (.normal, nil), (.high, "u=1")] as [(RequestPriority, String?)])
    func theFieldForTheServer(_ priority: RequestPriority, _ value: String?) throws {
        let name = try #require(HTTPField.Name("Priority"))
        #expect(Request("/").withPriority(priority).headers[name] == nil)
        let request = Request("/").withPriority(.high, tellsServer: true).withPriority(priority, tellsServer: true)
        #expect(request.headers[name] == value && request.priority == priority)
    }

    @Test func aSessionHonoursThem() async throws {
        let scripted = Scripted.narrow
        let (blocker, attempt) = try await scripted.block()
        for (count, priority) in [RequestPriority.low, .normal, .high].enumerated() {
            let handle = scripted.session.request(
                Request("http://localhost/\(priority)").withPriority(priority))
            Task { try await handle.data() }
            await scripted.waitUntilLive(count: count + 2)
        }
        attempt.respond(status: 200)
        for name in ["high", "normal", "low"] {
            let next = try await scripted.transport.nextAttempt()
            #expect(next.request.url == "http://localhost/\(name)")
            next.respond(status: 200)
        }
        _ = blocker
    }

    @Test func whoTimesOutInTheQueueIsToldHowManyWereAhead() async throws {
        let scripted = Scripted { $0.limits.perOrigin = 1 }
        let (blocker, blocking) = try await scripted.block()
        blocking.connect()
        var errors: [TrellisError?] = []
        var tasks: [Task<(Data, Response), any Error>] = []
        for (count, total) in [9800, 20_000, 30_000].enumerated() {
            let request = Request("http://localhost/").withTimeouts(Timeouts(total: .milliseconds(total)))
            tasks.append(Task { [session = scripted.session] in try await session.data(request) })
            await scripted.waitUntilLive(count: count + 2)
        }
        // The last request is resumed first, while the others are still ahead in the queue.
        let hurried = Request("http://localhost/").withTimeouts(Timeouts(total: .seconds(5)))
        tasks.insert(Task { [session = scripted.session] in try await session.data(hurried) }, at: 0)
        await scripted.waitUntilLive(count: 5)
        for (task, wait) in zip(tasks, [5000, 4800, 10_200, 10_000]) {
            await scripted.advance(by: .milliseconds(wait))
            errors.append(await #expect(throws: TrellisError.self) { try await task.value })
        }
        #expect(errors.allSatisfy { $0?.phase == .queued })
        #expect(
            errors.map { $0?.description ?? "" } == [
                "GET http://localhost/: timed out (total) after 5.0 s waiting for a connection: "
                    + "all 1 connections to http://localhost are in use, and 3 requests are ahead of it",
                "GET http://localhost/: timed out (total) after 9.8 s waiting for a connection: "
                    + "all 1 connections to http://localhost are in use, and it is next",
                "GET http://localhost/: timed out (total) after 20.0 s waiting for a connection: "
                    + "all 1 connections to http://localhost are in use, and it is next",
                "GET http://localhost/: timed out (total) after 30.0 s waiting for a connection: "
                    + "all 1 connections to http://localhost are in use, and it is next",
            ])
        blocker.cancel()
    }
}
