import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// The metrics of stored responses that the server has confirmed, over a socket.
@Suite(.timeLimit(.minutes(3)))
struct RevalidationMetricsTests {
    @Test(arguments: [false, true]) func theMetricsAreThoseOfTheExchange(_ isStream: Bool) async throws {
        let server = try LoopbackServer.http { request in
            let fields: HTTPFields = [.cacheControl: "max-age=0", .eTag: "\"1\""]
            if request["If-None-Match"] == "\"1\"" { return .init(status: 304, headers: fields) }
            return .init(headers: fields, body: Data("hello".utf8))
        }
        var configuration = SessionConfiguration()
        configuration.steps.cache = HTTPCache()
        let session = Session(configuration: configuration)
        _ = try await session.data(server.url("/a"))
        let response: Response
        if isStream {
            response = try await session.stream(server.url("/a")).finalResponse()
        } else {
            response = try await session.data(server.url("/a")).1
        }
        let metrics = response.metrics
        #expect(metrics.cacheStatus?.forwardStatus == .notModified)
        #expect(metrics.version == .http1_1 && metrics.isReusedConnection && metrics.attemptCount == 1)
        #expect(metrics.peerAddress == "127.0.0.1:\(server.port)")
        #expect(metrics.firstByte > .zero && metrics.total >= metrics.firstByte)
        if !isStream { #expect(metrics.bytesSent > 0 && metrics.bytesReceived > 0) }
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
