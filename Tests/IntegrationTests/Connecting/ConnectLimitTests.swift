import Foundation
import Testing
import Trellis
import TrellisTesting

/// With a limit on connecting of zero or less, no connection is begun, and one that exists is used.
@Suite(.timeLimit(.minutes(3)))
struct ConnectLimitTests {
    private static func request(_ url: String, _ limit: Duration = .zero) -> Request {
        var request = Request(url)
        request.timeouts = Timeouts(connect: limit)
        return request
    }

    private static func expectTimeout(_ error: TrellisError?, _ server: LoopbackServer) {
        #expect(error?.phase == .connecting && error?.mayHaveSentBytes == false)
        #expect(error?.isConnectionFailure == true && error?.detail == nil)
        #expect(server.acceptedCount == 0)
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func noConnectionIsBegun(_ limit: Duration) async throws {
        let server = try LoopbackServer.http { _ in .text("x") }
        let session = Session()
        let error = await expectFailure([.connectTimeout]) {
            try await session.data(Self.request(server.url(), limit))
        }
        Self.expectTimeout(error, server)
        await session.shutdown()
    }

    @Test func noConnectionOfAWebSocketIsBegun() async throws {
        let server = try LoopbackServer.webSocket { _ in }
        let session = Session()
        let error = await expectFailure([.connectTimeout]) {
            try await session.webSocket(Self.request(server.url(scheme: "ws")))
        }
        Self.expectTimeout(error, server)
        await session.shutdown()
    }

    @Test func aKeptConnectionIsUsed() async throws {
        let server = try LoopbackServer.http { _ in .text("x") }
        let session = Session()
        #expect(try await session.string(server.url()) == "x")
        #expect(try await session.string(Self.request(server.url())) == "x")
        #expect(server.acceptedCount == 1)
        await session.shutdown()
    }

    /// The file is not the cause of the error.
    @Test func aFileOfAuthoritiesIsNotNamed() async throws {
        let server = try LoopbackServer.https { _ in .text("x") }
        let path = try temporaryFolder("connect-limit") + "/ca.pem"
        try #require(server.authority).certificate.write(toFile: path, atomically: true, encoding: .utf8)
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(path)]))
        let session = Session(configuration: configuration)
        let error = await expectFailure([.connectTimeout]) { try await session.data(Self.request(server.url())) }
        Self.expectTimeout(error, server)
        #expect(error?.description.contains("ca.pem") == false)
        #expect(try await session.string(server.url()) == "x")
        #expect(try await session.string(Self.request(server.url())) == "x")
        await session.shutdown()
    }
}
