import CurlEngine
import Dispatch
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// The end of a response arrives even if it is in one piece with more bytes than an engine reads at once.
@Suite(.timeLimit(.minutes(3)))
struct CoalescedEndTests {
    /// Responses of every size arrive. With sizes a little above 16 KiB and above 32 KiB, they once stopped.
    @Test(arguments: [1000, 17_411, 20_790, 33_000, 55_328, 61_400, 120_000], [false, true])
    func everythingArrives(_ size: Int, _ hasTrailers: Bool) async throws {
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let isAsked = LoopbackServer.Gate(), mayAnswer = LoopbackServer.Gate(), isHeldUp = LoopbackServer.Gate()
        let isWritten = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            defer { isWritten.signal() }
            let stream = try RawHTTP2(connection: connection).readRequest()
            isAsked.open()
            try connection.wait(for: mayAnswer)
            var answer = RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, RawHTTP2.statusOK)
            answer += RawHTTP2.body(body, inPiecesOf: 16_000, stream: stream, endsStream: !hasTrailers)
            if hasTrailers {
                answer += RawHTTP2.frame(
                    RawHTTP2.headers, RawHTTP2.endHeaders | RawHTTP2.endStream, stream: stream,
                    RawHTTP2.field("x-sum", "42"))
            }
            try connection.write(answer)
            isWritten.signal()
            // The connection stays open, because its end would wake a client that waits forever.
            connection.waitUntilPeerCloses()
        }
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        let engine = try #require(session.executor as? EngineExecutor)
        let url = server.url()
        async let answer = session.data(url)
        try await isAsked.opened()
        // The engine checks the socket only when the complete response has arrived.
        engine.submit {
            isHeldUp.open()
            isWritten.wait()
        }
        try await isHeldUp.opened()
        mayAnswer.open()
        let (data, response) = try await answer
        #expect(data == body)
        #expect(response.trailers[try #require(HTTPField.Name("x-sum"))] == (hasTrailers ? "42" : nil))
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
