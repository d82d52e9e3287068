import Testing
import Trellis
import TrellisTesting

/// No more requests are in flight to a server than the session's limit, over connections that carry one request each.
@Suite(.timeLimit(.minutes(2)))
struct RequestsInFlightTests {
    @Test func aServerSeesNoMoreRequestsThanTheLimit() async throws {
        let mayAnswer = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: mayAnswer)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        var configuration = SessionConfiguration()
        configuration.limits.requestsPerOrigin = 2
        let session = Session(configuration: configuration)
        async let values = session.map(0..<6, concurrency: 6) { session, number in
            try await session.string(server.url("/\(number)"))
        }
        try await server.waitUntilRequested(count: 2)
        await session.settle()
        #expect(server.requests.count == 2)
        mayAnswer.open()
        #expect(try await values == Array(repeating: "ok", count: 6))
        // A third request in flight would have needed a third connection.
        #expect(server.acceptedCount == 2)
        await session.shutdown()
    }
}
