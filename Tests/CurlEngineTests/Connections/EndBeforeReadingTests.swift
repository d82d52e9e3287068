import Dispatch
import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// The end of a request's body is sent before a response is read that is there already.
@Suite(.timeLimit(.minutes(3)))
struct EndBeforeReadingTests {
    @Test(arguments: [false, true])
    func aResponseBeforeTheEndIsComplete(_ hasLastPiece: Bool) async throws {
        let mayAnswer = LoopbackServer.Gate(), isWritten = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            defer { isWritten.signal() }
            let stream = try Self.readBody(connection)
            try connection.wait(for: mayAnswer)
            // The head with status 200, the body, the trailer `x: y`, and the reset with NO_ERROR.
            var answer = Self.frame(1, 4, stream, [0x88])
            answer += Self.frame(0, 0, stream, Array("answer".utf8))
            answer += Self.frame(1, 5, stream, [0, 1, 0x78, 1, 0x79])
            answer += Self.frame(3, 0, stream, [0, 0, 0, 0])
            try connection.write(answer)
            isWritten.signal()
            connection.waitUntilPeerCloses()
        }
        let options = TransferOptions(
            url: try WireURL(parsing: server.url()), method: "POST", body: .stream(length: nil),
            version: .http2PriorKnowledge)
        let run = EngineRun()
        let exchange: Exchange = await withContinuation { continuation in
            let begun = Exchange(
                whenAskedForMore: { transfer in
                    // The engine sees the response only after the end of the source.
                    mayAnswer.open()
                    isWritten.wait()
                    if hasLastPiece { transfer.send(Data("last".utf8)) }
                    transfer.finishSending()
                },
                whenEnded: { continuation.resume(returning: $0) })
            run.executor.submit { begun.transfer = run.engine.start(options, delegate: begun) }
        }
        #expect(exchange.end?.failure == nil)
        #expect(exchange.status == 200)
        #expect(exchange.body == Array("answer".utf8))
        await run.finish()
    }

    /// Reads the client's frames up to the first bytes of a body, and returns the number of the stream.
    private static func readBody(_ connection: LoopbackServer.Connection) throws -> UInt8 {
        _ = try connection.read(exactly: 24)
        try connection.write(frame(4, 0, 0, []))
        while true {
            let head = try connection.read(exactly: 9)
            let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            _ = try connection.read(exactly: length)
            if head[3] == 4, head[4] == 0 { try connection.write(frame(4, 1, 0, [])) }
            if head[3] == 0, length > 0 { return head[8] }
        }
    }

    /// Returns a short frame (RFC 9113, section 4.1).
    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }
}

/// The delegate of a transfer whose body is a piece, and more after the connection has taken that piece.
private final class Exchange: TransferDelegate, @unchecked Sendable {
    // Unchecked: accessed only on the engine thread until the end was reported.
    var transfer: Transfer?
    var status: Int?
    var body: [UInt8] = []
    var end: TransferEnd?
    private var requests = 0
    private let whenAskedForMore: @Sendable (Transfer) -> Void
    private let whenEnded: @Sendable (Exchange) -> Void

    init(
        whenAskedForMore: @escaping @Sendable (Transfer) -> Void, whenEnded: @escaping @Sendable (Exchange) -> Void
    ) {
        (self.whenAskedForMore, self.whenEnded) = (whenAskedForMore, whenEnded)
    }

    func transferIsConnected() {}
    func transferDidReceiveInformational(_ head: WireHead) {}
    func transferDidReceiveHead(_ head: WireHead) { status = head.status }
    func transferDidReceiveBody(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe body.append(contentsOf: $0) }
    }
    func transferNeedsBody() {
        requests += 1
        guard let transfer else { return }
        if requests == 1 { transfer.send(Data("first".utf8)) }
        if requests == 2 { transfer.engine.submit { [whenAskedForMore] in whenAskedForMore(transfer) } }
    }
    func transferDidEnd(_ end: TransferEnd) {
        self.end = end
        transfer = nil
        whenEnded(self)
    }
}
