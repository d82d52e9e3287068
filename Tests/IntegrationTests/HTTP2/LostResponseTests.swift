import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A response that arrives in one piece with the reset behind it (RFC 9113, section 8.1), while the source of the request's body is quiet.
/// libcurl before 8.1 loses such a response, and the error says so.
@Suite(.timeLimit(.minutes(3)))
struct LostResponseTests {
    /// Returns whether an error is that of a response that libcurl has lost.
    static func isLoss(_ error: (any Error)?) -> Bool {
        guard let error = error as? TrellisError else { return false }
        return error.kind == .receive && "\(error)".contains("libcurl has lost it")
    }

    @Test(arguments: [HTTPRequest.Method.post, .put])
    func theErrorNamesTheLoss(_ method: HTTPRequest.Method) async throws {
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
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        let request = Request(server.url(), method: method, body: .stream(WatchedSource(.stalled)))
        if LibcurlFeatures.current.isAtLeast(8, 1) {
            let (data, response) = try await session.data(request)
            #expect(data == Data("answer".utf8))
            #expect(response.trailers[try #require(HTTPField.Name("grpc-status"))] == "0")
        } else {
            let error = await #expect(throws: TrellisError.self) { _ = try await session.data(request) }
            #expect(Self.isLoss(error))
            // The request has arrived.
            #expect(error?.isRetryable == (method == .put))
        }
        await session.shutdown()
    }

    /// A reset without the end of the response, and then the end of the connection, while a body in memory waits for room. libcurl from 8.1 on
    /// takes the reset without an error for the end.
    @Test(.enabled(if: !LibcurlFeatures.current.saysHowStreamsEnd, "not for a libcurl from 8.1 on"))
    func aResetOnAConnectionThatEndsIsNoEndOfAResponse() async throws {
        let server = try LoopbackServer { connection in
            let stream = try RawHTTP2(connection: connection).readRequest()
            var answer = RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, RawHTTP2.statusOK)
            answer += RawHTTP2.frame(RawHTTP2.data, 0, stream: stream, Array("half".utf8))
            answer += RawHTTP2.frame(RawHTTP2.reset, 0, stream: stream, [0, 0, 0, 0])
            try connection.write(answer)
        }
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        let request = Request(server.url(), method: .post, body: .data(Data(count: 1 << 20)))
        await #expect(throws: TrellisError.self) { _ = try await session.data(request) }
        await session.shutdown()
    }
}
