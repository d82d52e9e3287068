import Dispatch
import Testing
import TrellisTesting

@testable import CurlEngine

/// A request of any method is sent on another connection if the kept connection turns out to be dead before a byte of the request was sent.
@Suite(.timeLimit(.minutes(3)))
struct DeadConnectionTests {
    /// An event that ends a connection between two requests.
    enum Fate: String, CaseIterable, Sendable {
        case end, unaskedBytes, unaskedBytesAndTheEnd, reset

        func strike(_ connection: LoopbackServer.Connection) throws {
            if self == .reset { return connection.reset() }
            if self != .end { try connection.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nevil") }
            connection.waitUntilReceived()
            if self != .unaskedBytes { connection.shutdownWrite() }
        }
    }

    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    /// Returns a server that ends its first `count` connections when `mayStrike` is open.
    private static func server(
        _ count: Int, mayStrike: LoopbackServer.Gate, _ fate: Fate, then isStruck: DispatchSemaphore
    ) throws -> (LoopbackServer, mayAnswer: LoopbackServer.Gate) {
        let mayAnswer = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            if connection.ordinal <= count { try connection.wait(for: mayAnswer) }
            try connection.write(Self.good)
            guard connection.ordinal <= count else { return }
            try connection.wait(for: mayStrike)
            try fate.strike(connection)
            isStruck.signal()
            if fate != .reset { _ = try connection.readToEnd() }
        }
        return (server, mayAnswer)
    }

    /// A POST is sent on another connection, even after many dead ones.
    @Test(arguments: Fate.allCases, [1, 12])
    func aPostAfterItGoesOutOnAnotherConnection(_ fate: Fate, _ count: Int) async throws {
        let mayStrike = LoopbackServer.Gate(), isStruck = DispatchSemaphore(value: 0), isHeldUp = LoopbackServer.Gate()
        let (server, mayAnswer) = try Self.server(count, mayStrike: mayStrike, fate, then: isStruck)
        let run = EngineRun()
        let get = try EngineRun.get(server.url("/1")), post = try EngineRun.post(server.url("/2"), "once")
        let answers = Task {
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<count { group.addTask { await run.perform(get).text } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        try await server.waitUntilRequested(count: count)
        mayAnswer.open()
        #expect(await answers.value == Array(repeating: "good", count: count))
        run.executor.submit {
            isHeldUp.open()
            mayStrike.open()
            for _ in 0..<count { isStruck.wait() }
        }
        try await isHeldUp.opened()
        // The engine checks its sockets. The end of a connection may arrive after it was sent.
        while await run.onEngine({ run.engine.hasIdleConnection }), !Task.isCancelled {}
        let outcome = await run.perform(post)
        #expect(outcome.text == "good", "\(String(describing: outcome.end?.failure))")
        #expect(server.requests.map(\.path) == Array(repeating: "/1", count: count) + ["/2"])
        // No connection is made that carries no request.
        #expect(server.acceptedCount == count + 1)
        await run.finish()
    }

    /// A POST is sent on another connection if the reset arrives after the connection was chosen.
    @Test func aPostUnderWhichItDiesGoesOutOnAnotherConnection() async throws {
        let mayStrike = LoopbackServer.Gate(), isStruck = DispatchSemaphore(value: 0)
        let (server, mayAnswer) = try Self.server(1, mayStrike: mayStrike, .reset, then: isStruck)
        let run = EngineRun()
        mayAnswer.open()
        #expect(await run.perform(try EngineRun.get(server.url("/1"))).text == "good")
        let post = try EngineRun.post(server.url("/2"), "once")
        let outcome = await run.perform(post) {
            mayStrike.open()
            isStruck.wait()
        }
        #expect(outcome.text == "good", "\(String(describing: outcome.end?.failure))")
        #expect(server.requests.map(\.path) == ["/1", "/2"] && server.acceptedCount == 2)
        await run.finish()
    }
}
