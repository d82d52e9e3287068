import Dispatch
import Testing
import TrellisTesting

@testable import CurlEngine

/// Bytes that arrive on an idle connection are detected, even at the moment at which a request is about to take that connection.
@Suite(.timeLimit(.minutes(3)))
struct UnaskedBytesTests {
    private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
    private static let last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

    /// An idle socket is checked before the busy sockets that are ahead of it. Busy sockets become readable, and then the idle one, while
    /// the engine is occupied. The engine handles the busy ones first, the end of the first transfer starts a request, and its own
    /// connection has ended: the idle connection is the only one that is left.
    @Test(arguments: [1, 300])
    func idleSocketBehindBusyOnesIsLookedAtFirst(_ busyCount: Int) async throws {
        let mayAnswerFirst = LoopbackServer.Gate(), mayAnswer = LoopbackServer.Gate()
        let mayDisturb = LoopbackServer.Gate(), isHeldUp = LoopbackServer.Gate()
        let firstIsWritten = DispatchSemaphore(value: 0), isWritten = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            switch try connection.nextRequest()?.path {
            case "/first":
                try connection.wait(for: mayAnswerFirst)
                try connection.write(Self.last)
                connection.waitUntilReceived()
                firstIsWritten.signal()
            case "/busy":
                try connection.wait(for: mayAnswer)
                try connection.write(Self.last)
                connection.waitUntilReceived()
                isWritten.signal()
            case "/idle":
                try connection.write(Self.good)
                try connection.wait(for: mayDisturb)
                try connection.write(Self.evil)
                connection.waitUntilReceived()
                isWritten.signal()
                _ = try connection.readToEnd()
            default: try connection.write(Self.good)
            }
        }
        var configuration = EngineConfiguration()
        configuration.maximumConnections = 2 * busyCount + 10
        let run = EngineRun(configuration)
        let first = try EngineRun.get(server.url("/first")), busy = try EngineRun.get(server.url("/busy"))
        let next = try EngineRun.get(server.url("/next"))
        async let answer = withContinuation { continuation in
            let second = EngineRun.Outcome(whenEnded: { continuation.resume(returning: $0.text) })
            run.executor.submit { run.start(first, EngineRun.Outcome(whenEnded: { _ in run.start(next, second) })) }
        }
        for _ in 0..<busyCount { run.executor.submit { run.start(busy, EngineRun.Outcome()) } }
        try await server.waitUntilRequested(count: 1 + busyCount)
        #expect(await run.perform(try EngineRun.get(server.url("/idle"))).text == "good")
        // The kernel has reported every socket that was ready, so that from now on sockets are reported in the order of their events.
        for _ in 0..<4 { await run.onEngine {} }
        run.executor.submit {
            isHeldUp.open()
            mayAnswerFirst.open()
            firstIsWritten.wait()
            mayAnswer.open()
            for _ in 0..<busyCount { isWritten.wait() }
            mayDisturb.open()
            isWritten.wait()
        }
        try await isHeldUp.opened()
        #expect(await answer == "good")
        await run.finish()
    }

    /// Idle connections stay guarded if a transfer is paused at once. The transfer takes a kept connection, and is paused by its first
    /// bytes in the same turn.
    @Test func aTransferThatIsPausedAtOnceLeavesOthersGuarded() async throws {
        let mayBegin = LoopbackServer.Gate(), mayDisturb = LoopbackServer.Gate(), isDisturbed = LoopbackServer.Gate()
        let hasBegun = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            guard let path = try connection.nextRequest()?.path else { return }
            try connection.write(Self.good)
            if path == "/paused" {
                try connection.wait(for: mayBegin)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ")
                connection.waitUntilReceived()
                hasBegun.signal()
            } else if path == "/idle" {
                try connection.wait(for: mayDisturb)
                try connection.write(Self.evil)
                connection.waitUntilReceived()
                isDisturbed.open()
            }
            _ = try connection.readToEnd()
        }
        let run = EngineRun()
        let first = try EngineRun.get(server.url("/paused"))
        #expect(await run.perform(first).text == "good")
        let isConnected = LoopbackServer.Gate()
        run.executor.submit {
            let paused = PausedOutcome {
                mayBegin.open()
                hasBegun.wait()
                isConnected.open()
            }
            paused.transfer = run.engine.start(first, delegate: paused)
        }
        try await isConnected.opened()
        #expect(await run.perform(try EngineRun.get(server.url("/idle"))).text == "good")
        mayDisturb.open()
        try await isDisturbed.opened()
        #expect(await run.perform(try EngineRun.get(server.url("/next"))).text == "good")
        await run.finish()
    }

    /// A connection that becomes idle in the turn in which it is needed is checked: a paused transfer continues and ends in the turn in
    /// which another transfer starts that could take its connection.
    @Test func aConnectionThatBecomesIdleInTheTurnInWhichItIsWanted() async throws {
        let mayGoOn = LoopbackServer.Gate(), isWritten = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            guard try connection.nextRequest()?.path == "/paused" else { return try connection.write(Self.good) }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ")
            try connection.wait(for: mayGoOn)
            try connection.write("rest!" + Self.evil)
            connection.waitUntilReceived()
            isWritten.open()
            _ = try connection.readToEnd()
        }
        let run = EngineRun()
        let paused = RestingOutcome()
        let first = try EngineRun.get(server.url("/paused")), next = try EngineRun.get(server.url("/next"))
        run.executor.submit { paused.transfer = run.engine.start(first, delegate: paused) }
        while await run.onEngine({ (paused.transfer?.pauses.applied ?? 0) & 1 == 0 }) { try Task.checkCancellation() }
        mayGoOn.open()
        try await isWritten.opened()
        let text = await withContinuation { continuation in
            let outcome = EngineRun.Outcome(whenEnded: { continuation.resume(returning: $0.text) })
            run.executor.submit {
                paused.transfer?.pauseReceiving(false)
                run.start(next, outcome)
            }
        }
        #expect(text == "good")
        #expect(await run.onEngine { paused.text } == "half rest!")
        await run.finish()
    }

    /// A connection is checked before the second of two requests that start together takes it. The first request gets its response in the
    /// turn in which it is sent. The response fills the engine's buffer, so that the bytes after the response stay unread.
    @Test func aConnectionThatIsWantedByTwoThatStartTogether() async throws {
        let mayDisturb = LoopbackServer.Gate(), isDisturbed = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            guard try connection.nextRequest() != nil else { return }
            try connection.write(Self.good)
            guard connection.ordinal == 1 else { return }
            try connection.wait(for: mayDisturb)
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"
            let length = (16 << 10) - head.utf8.count
            try connection.write(head.replacing("12345", with: "\(length)") + String(repeating: "x", count: length))
            try connection.write(Self.evil)
            connection.waitUntilReceived()
            isDisturbed.signal()
            _ = try connection.readToEnd()
        }
        let run = EngineRun()
        let get = try EngineRun.get(server.url())
        #expect(await run.perform(get).text == "good")
        let text = await withContinuation { continuation in
            let first = EngineRun.Outcome(whenConnected: {
                mayDisturb.open()
                isDisturbed.wait()
            })
            let second = EngineRun.Outcome(whenEnded: { continuation.resume(returning: $0.text) })
            run.executor.submit {
                run.start(get, first)
                run.start(get, second)
            }
        }
        #expect(text == "good")
        await run.finish()
    }

    /// A new connection is guarded if the response is there in the turn in which the connection is made and the request is sent.
    @Test func aConnectionWhoseFirstResponseComesAtOnceIsGuarded() async throws {
        let mayAnswer = LoopbackServer.Gate(), mayDisturb = LoopbackServer.Gate(), isDisturbed = LoopbackServer.Gate()
        let isWritten = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            guard connection.ordinal == 1 else {
                if try connection.nextRequest() != nil { try connection.write(Self.good) }
                return
            }
            try connection.wait(for: mayAnswer)
            try connection.write(Self.good)
            connection.waitUntilReceived()
            isWritten.signal()
            guard try connection.nextRequest() != nil else { return }
            try connection.wait(for: mayDisturb)
            try connection.write(Self.evil)
            // The client closes the connection.
            _ = try? connection.readToEnd()
            isDisturbed.open()
        }
        let run = EngineRun()
        let get = try EngineRun.get(server.url())
        let first = await run.perform(get) {
            mayAnswer.open()
            isWritten.wait()
        }
        #expect(first.text == "good")
        #expect(await run.onEngine { run.engine.hasIdleConnection })
        mayDisturb.open()
        try await isDisturbed.opened()
        #expect(await run.perform(get).text == "good")
        await run.finish()
    }

    /// The connection of a repetition is checked too. The first connection dies during a request that may be repeated.
    @Test func theConnectionOfARepetitionIsLookedAtToo() async throws {
        let mayAnswer = LoopbackServer.Gate(), mayDie = LoopbackServer.Gate(), mayDisturb = LoopbackServer.Gate()
        let isDone = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            switch try connection.nextRequest()?.path {
            case "/dying":
                try connection.wait(for: mayAnswer)
                try connection.write(Self.good)
                try connection.wait(for: mayDie)
                connection.reset()
                isDone.signal()
            case "/idle":
                try connection.write(Self.good)
                try connection.wait(for: mayDisturb)
                try connection.write(Self.evil)
                connection.waitUntilReceived()
                isDone.signal()
                _ = try connection.readToEnd()
            default: try connection.write(Self.good)
            }
        }
        let run = EngineRun()
        let dying = try EngineRun.get(server.url("/dying"))
        async let first = run.perform(dying)
        try await server.waitUntilRequested(count: 1)
        #expect(await run.perform(try EngineRun.get(server.url("/idle"))).text == "good")
        mayAnswer.open()
        #expect(await first.text == "good")
        let next = try EngineRun.get(server.url("/next"))
        let outcome = await run.perform(next) {
            mayDie.open()
            isDone.wait()
            mayDisturb.open()
            isDone.wait()
        }
        #expect(outcome.text == "good", "\(String(describing: outcome.end?.failure))")
        await run.finish()
    }

    /// A delegate that pauses with the head, and is used on the engine thread.
    private final class RestingOutcome: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        var transfer: Transfer?
        var text = ""

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) { transfer?.pauseReceiving(true) }
        func transferDidReceiveBody(_ bytes: RawSpan) {
            text += String(decoding: [UInt8](copying: bytes), as: UTF8.self)
        }
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) { transfer = nil }
    }

    /// A delegate that pauses before the first byte, and is used on the engine thread.
    private final class PausedOutcome: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        var transfer: Transfer?
        private let whenConnected: () -> Void

        init(whenConnected: @escaping () -> Void) { self.whenConnected = whenConnected }

        func transferIsConnected() {
            transfer?.pauseReceiving(true)
            whenConnected()
        }
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) {}
    }
}
