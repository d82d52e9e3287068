import Dispatch
import Testing
import TrellisTesting

@testable import CurlEngine

/// A kept connection that turns out to be dead before a byte of the request has left: the request goes out on another,
/// whatever its method.
@Suite(.timeLimit(.minutes(1)))
struct DeadConnectionTests {
    /// What happens to a connection between two requests.
    enum Fate: String, CaseIterable, Sendable {
        case unaskedBytes, unaskedBytesAndTheEnd, reset

        func strike(_ connection: LoopbackServer.Connection) throws {
            if self == .reset { return connection.reset() }
            try connection.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nevil")
            connection.waitUntilReceived()
            if self == .unaskedBytesAndTheEnd { connection.shutdownWrite() }
        }
    }

    private static func server(
        mayStrike: LoopbackServer.Gate, _ fate: Fate, then isStruck: @escaping @Sendable () -> Void
    ) throws -> LoopbackServer {
        try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
            guard connection.ordinal == 1 else { return }
            try connection.wait(for: mayStrike)
            try fate.strike(connection)
            isStruck()
            if fate != .reset { _ = try connection.readToEnd() }
        }
    }

    @Test(arguments: Fate.allCases)
    func aPostAfterItGoesOutOnAnotherConnection(_ fate: Fate) async throws {
        let mayStrike = LoopbackServer.Gate(), isStruck = LoopbackServer.Gate()
        let server = try Self.server(mayStrike: mayStrike, fate) { isStruck.open() }
        let run = EngineRun()
        #expect(await run.perform(try EngineRun.get(server.url("/1"))).text == "good")
        mayStrike.open()
        try await isStruck.opened()
        // The engine has looked at its sockets since.
        for _ in 0..<4 { await run.onEngine {} }
        let outcome = await run.perform(try EngineRun.post(server.url("/2"), "once"))
        #expect(outcome.text == "good", "\(String(describing: outcome.end?.failure))")
        #expect(server.requests.map(\.path) == ["/1", "/2"])
        await run.finish()
    }

    /// The reset comes when libcurl has chosen the connection already.
    @Test func aPostUnderWhichItDiesGoesOutOnAnotherConnection() async throws {
        let mayStrike = LoopbackServer.Gate(), isStruck = DispatchSemaphore(value: 0)
        let server = try Self.server(mayStrike: mayStrike, .reset) { isStruck.signal() }
        let run = EngineRun()
        #expect(await run.perform(try EngineRun.get(server.url("/1"))).text == "good")
        let post = try EngineRun.post(server.url("/2"), "once")
        let (text, failure) = await withCheckedContinuation { continuation in
            let outcome = EngineRun.Outcome {
                mayStrike.open()
                isStruck.wait()
            } whenEnded: {
                continuation.resume(returning: ($0.text, $0.end?.failure))
            }
            run.executor.submit { run.start(post, outcome) }
        }
        #expect(text == "good", "\(String(describing: failure))")
        #expect(server.requests.map(\.path) == ["/1", "/2"])
        await run.finish()
    }
}
