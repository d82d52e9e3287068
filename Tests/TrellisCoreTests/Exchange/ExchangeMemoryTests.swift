import CurlEngine
import Dispatch
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The memory of an exchange: bytes that arrive while a pause ends, and the body of a request that failed.
@Suite(.timeLimit(.minutes(3)))
struct ExchangeMemoryTests {
    /// A transport may deliver a little more after it was paused.
    @Test func bytesThatArriveWhileTheReaderDrainsKeepTheTransferPaused() async throws {
        let scripted = Scripted()
        let task = Task { [session = scripted.session] in try await session.stream("http://a.example/") }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        let stream = try await task.value
        attempt.receiveBody(Data(count: BodyInbox.highWater))
        try await attempt.wait(for: .pauseReceiving(true))
        let isHeld = LoopbackServer.Gate(), mayGo = DispatchSemaphore(value: 0)
        scripted.session.engine.submit {
            isHeld.open()
            mayGo.waitForTest()
        }
        try await isHeld.opened()
        // The engine appends these bytes first, which fill the inbox again, and learns of the drain after that.
        attempt.receiveBody(Data(count: BodyInbox.highWater))
        var chunks = stream.chunks.makeAsyncIterator()
        var taken = 0
        while taken < BodyInbox.highWater { taken += try await chunks.next()?.count ?? .max }
        mayGo.signal()
        await scripted.session.settle()
        let pauses = attempt.commands.compactMap { call in
            if case .pauseReceiving(let isPaused) = call { isPaused } else { nil }
        }
        #expect(pauses.last == true)
    }

    @Test func aFailedRequestThatIsKeptKeepsNoBody() async throws {
        let scripted = Scripted()
        let handle = scripted.session.request("http://a.example/")
        let task = outcome { "\(try await handle.data().count)" }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        attempt.receiveBody(Data(count: 1 << 20))
        attempt.fail(.exchangeFailed(.receive("broken")))
        #expect(await task.value == .failed(.exchangeFailed(.receive("broken"))))
        let actor = try handle.handle.actor.get()
        let exchange = try #require(await actor.exchange)
        let count = await withContinuation { continuation in
            exchange.submit { continuation.resume(returning: $0.body.count) }
        }
        #expect(count == 0)
    }
}
