import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Cancellation of a call at each point, by the task and by the handle: the call ends once and at once, and leaves nothing
/// behind.
@Suite(.timeLimit(.minutes(3)))
struct CancellationTests {
    enum Point: CaseIterable, Sendable {
        case queued, connecting, sending, informational, receiving, suspended
    }

    enum Means: CaseIterable, Sendable {
        case task, handle, both, droppedHandle
    }

    /// Brings a request to this point. Only a request that waits in the queue has no attempt.
    private static func advance(_ scripted: Scripted, _ handle: DataRequest, to point: Point) async throws
        -> ScriptedAttempt?
    {
        if point == .queued {
            await scripted.waitUntilLive(count: 2)
            return nil
        }
        let attempt = try await scripted.transport.nextAttempt()
        if point != .connecting { attempt.connect() }
        if point == .informational { attempt.receiveInformational(status: 103) }
        if point == .receiving || point == .suspended {
            attempt.receiveHead()
            attempt.receiveBody("part")
        }
        if point == .suspended {
            handle.suspend()
            try await attempt.wait(for: .suspend(true))
        }
        await scripted.session.settle()
        return attempt
    }

    @Test(arguments: Point.allCases, [Means.task, .handle, .both])
    func atEachPoint(_ point: Point, _ means: Means) async throws {
        let scripted = Scripted.narrow
        let blocker = point == .queued ? try await scripted.block() : nil
        let handle = scripted.session.request("http://localhost/")
        let task = outcome { String(decoding: try await handle.data(), as: UTF8.self) }
        let attempt = try await Self.advance(scripted, handle, to: point)
        if means != .task { handle.cancel() }
        if means != .handle { task.cancel() }
        let outcome = await task.value
        switch means {
        case .task: #expect(outcome == .taskCancelled)
        case .handle: #expect(outcome == .failed(.cancelled(.explicitly)))
        case .both, .droppedHandle: #expect(outcome == .taskCancelled || outcome == .failed(.cancelled(.explicitly)))
        }
        await scripted.session.settle()
        #expect(await handle.state == .cancelled)
        #expect(attempt?.count(of: .cancel) == (point == .queued ? nil : 1))
        #expect(scripted.transport.attempts.count == 1)
        // Later events have no effect.
        handle.cancel()
        attempt?.receiveBody("late")
        attempt?.end()
        await scripted.session.settle()
        #expect(attempt?.count(of: .cancel) == (point == .queued ? nil : 1))
        #expect(await scripted.liveCount == (point == .queued ? 1 : 0))
        blocker?.0.cancel()
        try await Self.expectThatTheSlotIsFree(scripted)
    }

    @Test(arguments: [Point.connecting, .sending, .receiving, .suspended])
    func droppingTheHandleEndsTheRequest(_ point: Point) async throws {
        let scripted = Scripted.narrow
        var handle: DataRequest? = scripted.session.request("http://localhost/")
        handle?.resume()
        let attempt = try await Self.advance(scripted, try #require(handle), to: point)
        handle = nil
        try await attempt?.wait(for: .cancel)
        try await Self.expectThatTheSlotIsFree(scripted)
    }

    @Test func beforeItIsStarted() async throws {
        let scripted = Scripted.narrow
        let handle = scripted.session.request("http://localhost/")
        handle.cancel()
        let error = await #expect(throws: TrellisError.self) { try await handle.data() }
        #expect(error?.reason == .cancelled(.explicitly))
        #expect(error?.phase == .composing)
        #expect(scripted.transport.attempts.isEmpty)
        try await Self.expectThatTheSlotIsFree(scripted)
    }

    @Test func aTaskThatIsCancelledBeforeItCallsSendsNothing() async throws {
        let scripted = Scripted.narrow
        let gate = LoopbackServer.Gate()
        let task = outcome {
            _ = try? await gate.opened()
            return String(decoding: try await scripted.session.data("http://localhost/").0, as: UTF8.self)
        }
        task.cancel()
        gate.open()
        #expect(await task.value == .taskCancelled)
        await scripted.session.settle()
        #expect(await scripted.liveCount == 0)
        #expect(scripted.transport.attempts.allSatisfy { $0.count(of: .cancel) == 1 })
    }

    @Test func whatHasEndedStaysEnded() async throws {
        let scripted = Scripted.narrow
        let handle = scripted.session.request("http://localhost/")
        let answer = Task { try await handle.data() }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.respond("hello")
        _ = try await answer.value
        handle.cancel()
        #expect(String(decoding: try await handle.data(), as: UTF8.self) == "hello")
        #expect(await handle.state == .finished)
        #expect(attempt.commands.isEmpty)
    }

    @Test func aCancelledReaderLeavesTheAnswerToTheOthers() async throws {
        let scripted = Scripted.narrow
        let handle = scripted.session.request("http://localhost/")
        // Both begin at once: the first one leaves when the other one waits, too.
        let first = Task.immediate { try await handle.data() }
        let second = Task.immediate { try await handle.data() }
        let attempt = try await scripted.transport.nextAttempt()
        await scripted.session.settle()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(attempt.count(of: .cancel) == 0)
        attempt.respond("hello")
        #expect(try await second.value == Data("hello".utf8))
    }

    @Test func theRequestEndsWithItsLastReader() async throws {
        let scripted = Scripted.narrow
        let handle = scripted.session.request("http://localhost/")
        // All begin at once: none leaves before the last one waits.
        let readers = (1...3).map { _ in Task.immediate { try await handle.data() } }
        let attempt = try await scripted.transport.nextAttempt()
        await scripted.session.settle()
        for reader in readers {
            #expect(attempt.count(of: .cancel) == 0)
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
        }
        try await attempt.wait(for: .cancel)
        // A later reader has not been cancelled, and throws the cancellation of the request.
        let later = outcome { "\(try await handle.response(of: .data).status.code)" }
        #expect(await later.value == .failed(.cancelled(.explicitly)))
        try await Self.expectThatTheSlotIsFree(scripted)
    }

    /// Checks that another request gets the slot and its response.
    static func expectThatTheSlotIsFree(_ scripted: Scripted, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let next = Task { try await scripted.session.data("http://localhost/next") }
        var attempt = try await scripted.transport.nextAttempt()
        while !attempt.request.url.hasSuffix("/next") { attempt = try await scripted.transport.nextAttempt() }
        attempt.respond(status: 204)
        #expect(try await next.value.1.status.code == 204, sourceLocation: sourceLocation)
        await scripted.session.settle()
        #expect(await scripted.liveCount == 0, sourceLocation: sourceLocation)
    }
}
