import CurlEngine
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// The scripted server of HTTP/2 tells each change of its open streams.
@Suite(.timeLimit(.minutes(3)))
struct HTTP2ServerEventTests {
    /// A response that is longer than the client's window ends with a WINDOW_UPDATE. A script that counts the open streams learns of that
    /// at once: nothing else may ever arrive on the connection.
    @Test func theEndOfAResponseThatHasWaitedIsAnEvent() async throws {
        let events = Locked<[String]>([])
        // The client's streams begin with a window of 262,144 bytes.
        let length = 300_000
        let server = try LoopbackServer { connection in
            let http2 = HTTP2Server(connection)
            try http2.begin()
            while true {
                let event = try http2.nextEvent()
                if case .head(let stream) = event {
                    try http2.sendHead(stream, status: 200)
                    try http2.sendBody(stream, repeatElement(7, count: length))
                    try http2.sendEnd(stream)
                }
                events.withLock { $0.append("\(event), open: \(http2.openStreams)") }
                if case .left = event { return }
            }
        }
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        #expect(try await session.data(server.url()).0.count == length)
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(events.withLock { $0 } == ["head(1), open: 1", "answered, open: 0", "left, open: 0"])
    }
}
