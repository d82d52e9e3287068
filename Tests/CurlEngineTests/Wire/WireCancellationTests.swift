import Dispatch
import Testing
import TrellisTesting

@testable import CurlEngine

/// A transfer that is cancelled keeps its connection if the rest of its response has arrived.
@Suite(.timeLimit(.minutes(3)))
struct WireCancellationTests {
    /// A delegate that cancels its transfer at the first bytes of the body.
    private final class Leaver: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        var transfer: Transfer?
        private let beforeLeaving: @Sendable () -> Void
        private let whenLeft: @Sendable () -> Void

        init(beforeLeaving: @escaping @Sendable () -> Void, whenLeft: @escaping @Sendable () -> Void) {
            (self.beforeLeaving, self.whenLeft) = (beforeLeaving, whenLeft)
        }

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) {}

        func transferDidReceiveBody(_ bytes: RawSpan) {
            guard let transfer else { return }
            self.transfer = nil
            beforeLeaving()
            transfer.cancel()
            whenLeft()
        }
    }

    private static let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n[DONE]\r\n"

    /// What follows the first bytes: in the same segment or later, the whole rest, a part of it, too much, or more than is read.
    static let rests: [(rest: String, isKept: Bool)] = [
        ("0\r\n\r\n", true), ("3\r\nend\r\n0\r\nX: 1\r\n\r\n", true), ("0\r\n", false), ("", false), ("evil", false),
        ("0\r\n\r\nevil", false), ("20000\r\n" + String(repeating: "a", count: 0x20000) + "\r\n0\r\n\r\n", false),
    ]

    @Test(arguments: rests.indices, [true, false])
    func theConnectionIsKeptIfTheRestHasArrived(_ index: Int, _ isAtOnce: Bool) async throws {
        let (rest, isKept) = Self.rests[index]
        let mayGoOn = LoopbackServer.Gate(), hasArrived = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            guard connection.ordinal == 1 else {
                return try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
            }
            try connection.write(isAtOnce ? Self.head + rest : Self.head)
            try connection.wait(for: mayGoOn)
            // A response that is larger than what is read need not arrive.
            if rest.utf8.count > 1000 { hasArrived.signal() }
            if !isAtOnce { try connection.write(rest) }
            connection.waitUntilReceived()
            if rest.utf8.count <= 1000 { hasArrived.signal() }
            if try connection.nextRequest() != nil {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
            }
        }
        let run = EngineRun()
        let get = try EngineRun.get(server.url("/"))
        await withContinuation { continuation in
            run.executor.submit {
                let leaver = Leaver {
                    mayGoOn.open()
                    hasArrived.wait()
                } whenLeft: {
                    continuation.resume(returning: ())
                }
                leaver.transfer = run.engine.start(get, delegate: leaver)
            }
        }
        let outcome = await run.perform(get)
        #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == isKept)
        #expect(server.acceptedCount == (isKept ? 1 : 2))
        await run.finish()
    }
}
