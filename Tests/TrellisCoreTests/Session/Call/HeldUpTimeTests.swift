import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Time limits while this side pauses the transfer.
@Suite(.timeLimit(.minutes(3)))
struct HeldUpTimeTests {
    let scripted = Scripted()

    private func request(_ timeouts: Timeouts) -> Request {
        var request = Request("http://localhost/")
        request.timeouts = timeouts
        return request
    }

    private static let beginning = 4 << 20

    /// Reads the bytes that made the transfer pause.
    private func readBeginning(_ reader: inout ResponseBody.Iterator) async throws {
        var rest = Self.beginning
        while rest > 0 { rest -= try #require(try await reader.next()).count }
        #expect(rest == 0)
    }

    /// Returns a stream that is paused because its first megabyte has not been read.
    private func pausedStream(_ timeouts: Timeouts) async throws -> (StreamResponse, ScriptedAttempt) {
        let request = request(timeouts)
        let opening = Task { [session = scripted.session] in try await session.stream(request) }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        let stream = try await opening.value
        attempt.receiveBody(Data(count: Self.beginning))
        try await attempt.wait(for: .pauseReceiving(true))
        return (stream, attempt)
    }

    @Test func theTimeOfAHandleThatIsSuspendedBeforeItsStartBeginsWithItsStart() async throws {
        let handle = scripted.session.request(request(Timeouts(connect: nil, idle: nil, total: .seconds(50))))
        handle.suspend()
        await scripted.advance(by: .seconds(100))
        #expect(await handle.state == .suspended)
        handle.resume()
        let attempt = try await scripted.transport.nextAttempt()
        await scripted.advance(by: .seconds(49))
        attempt.respond("late")
        #expect(try await handle.string() == "late")
    }

    @Test func aBodyThatItsReaderPausesIsNotIdle() async throws {
        let (stream, attempt) = try await pausedStream(Timeouts(idle: .seconds(9), total: nil))
        await scripted.advance(by: .seconds(1000))
        #expect(attempt.count(of: .cancel) == 0)
        var reader = stream.chunks.makeAsyncIterator()
        try await readBeginning(&reader)
        try await attempt.wait(for: .pauseReceiving(false))
        attempt.receiveBody("x")
        attempt.end()
        #expect(try await reader.next() == Data("x".utf8))
        #expect(try await reader.next() == nil)
    }

    @Test func theTimeOfAPauseIsNotHeldAgainstThePeerAfterIt() async throws {
        let (stream, attempt) = try await pausedStream(Timeouts(idle: .seconds(9), total: nil))
        await scripted.advance(by: .seconds(1000))
        var reader = stream.chunks.makeAsyncIterator()
        try await readBeginning(&reader)
        try await attempt.wait(for: .pauseReceiving(false))
        await scripted.advance(by: .seconds(9) - .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 0, "the peer could not have sent while the transfer was paused")
    }

    @Test func aPausedBodyDoesNotOutliveTheTotal() async throws {
        let (stream, attempt) = try await pausedStream(Timeouts(idle: .seconds(9), total: .seconds(50)))
        await scripted.advance(by: .seconds(50) - .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 0)
        await scripted.advance(by: .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 1)
        let error = await #expect(throws: TrellisError.self) { _ = try await stream.finalResponse() }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.elapsed == .seconds(50))
    }

    @Test func aSuspendedRequestIsNotIdle() async throws {
        let handle = scripted.session.request(
            request(Timeouts(responseHead: .seconds(7), idle: .seconds(9), total: nil)))
        handle.resume()
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        await scripted.session.settle()
        handle.suspend()
        await scripted.advance(by: .seconds(1000))
        #expect(attempt.count(of: .cancel) == 0)
        #expect(await handle.state == .suspended)
    }

    @Test func aSuspendedRequestDoesNotOutliveTheTotal() async throws {
        let handle = scripted.session.request(request(Timeouts(total: .seconds(50))))
        handle.resume()
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        await scripted.session.settle()
        handle.suspend()
        await scripted.advance(by: .seconds(50))
        #expect(attempt.count(of: .cancel) == 1)
        let error = await #expect(throws: TrellisError.self) { try await handle.data() }
        #expect(error?.kind == .totalTimeout)
    }

    @Test func aParkedRequestDoesNotOutliveTheTotal() async throws {
        let handle = scripted.session.request(request(Timeouts(connect: nil, idle: nil, total: .seconds(50))))
        handle.suspend()
        // The call begins at once, so that its time counts from here.
        let answer = Task.immediate { try await handle.data() }
        await scripted.advance(by: .seconds(50))
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.phase == .queued)
    }

    // MARK: The source of an upload

    private func upload() async throws -> (AsyncStream<Data>.Continuation, Task<Int, any Error>, ScriptedAttempt) {
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        var request = Request("http://localhost/", method: .put, body: .stream(chunks))
        request.timeouts = Timeouts(responseHead: .seconds(7), idle: .seconds(9), total: nil)
        let answer = Task { [request, session = scripted.session] in try await session.data(request).1.status.code }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        return (source, answer, attempt)
    }

    private static let chunk = Data("chunk".utf8)

    @Test func anUploadWhoseSourceIsQuietIsNotIdle() async throws {
        let (source, answer, attempt) = try await upload()
        await scripted.advance(by: .seconds(1000))
        #expect(attempt.count(of: .cancel) == 0, "nothing has come that could be sent")
        source.yield(Self.chunk)
        try await attempt.wait(for: .send(Self.chunk))
        attempt.needBody()
        await scripted.advance(by: .seconds(1000))
        #expect(attempt.count(of: .cancel) == 0, "the first chunk has gone, and no other has come")
        source.finish()
        try await attempt.wait(for: .finishSending)
        attempt.receiveHead(status: 201)
        attempt.end()
        #expect(try await answer.value == 201)
    }

    @Test func aPeerThatDoesNotTakeWhatTheSourceHasBroughtIsIdle() async throws {
        let (source, answer, attempt) = try await upload()
        await scripted.advance(by: .seconds(1000))
        await scripted.advance(by: .seconds(5))
        source.yield(Self.chunk)
        try await attempt.wait(for: .send(Self.chunk))
        await scripted.advance(by: .seconds(9) - .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 0)
        await scripted.advance(by: .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 1)
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.reason == .timedOut(.idle))
    }
}
