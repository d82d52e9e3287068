import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A response that arrives in one piece with the reset behind it (RFC 9113, section 8.1), while the body of the request goes on.
@Suite(.timeLimit(.minutes(3)))
struct LostResponseTests {
    private let session = Session(configuration: Self.configuration)

    private static var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        return configuration
    }

    @Test(arguments: [HTTPRequest.Method.post, .put])
    func aResponseBeforeItsResetIsComplete(_ method: HTTPRequest.Method) async throws {
        let server = try LoopbackServer { connection in
            let stream = try RawHTTP2(connection: connection).readRequest()
            let (head, end) = (RawHTTP2.endHeaders, RawHTTP2.endHeaders | RawHTTP2.endStream)
            var answer = RawHTTP2.frame(RawHTTP2.headers, head, stream: stream, RawHTTP2.statusOK)
            answer += RawHTTP2.frame(RawHTTP2.data, 0, stream: stream, Array("answer".utf8))
            answer += RawHTTP2.frame(RawHTTP2.headers, end, stream: stream, RawHTTP2.field("grpc-status", "0"))
            answer += RawHTTP2.frame(RawHTTP2.reset, 0, stream: stream, [0, 0, 0, 0])
            try connection.write(answer)
            connection.waitUntilPeerCloses()
        }
        let request = Request(server.url(), method: method, body: .stream(WatchedSource(.stalled)))
        let (data, response) = try await session.data(request)
        #expect(data == Data("answer".utf8))
        #expect(response.trailers[try #require(HTTPField.Name("grpc-status"))] == "0")
        await session.shutdown()
    }

    /// A reset without the end of the response is an error, although its code is NO_ERROR.
    @Test(arguments: [false, true])
    func aResetIsNoEndOfAResponse(_ closes: Bool) async throws {
        let server = try LoopbackServer { connection in
            let stream = try RawHTTP2(connection: connection).readRequest()
            var answer = RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, RawHTTP2.statusOK)
            answer += RawHTTP2.frame(RawHTTP2.data, 0, stream: stream, Array("half".utf8))
            answer += RawHTTP2.frame(RawHTTP2.reset, 0, stream: stream, [0, 0, 0, 0])
            try connection.write(answer)
            if !closes { connection.waitUntilPeerCloses() }
        }
        let request = Request(server.url(), method: .post, body: .data(Data(count: 1 << 20)))
        let error = await #expect(throws: TrellisError.self) { _ = try await session.data(request) }
        #expect(error?.isRetryable == false)
        await session.shutdown()
    }
}
