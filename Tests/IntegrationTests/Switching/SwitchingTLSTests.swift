import CurlEngine
import Foundation
import Testing
import Trellis

/// Protocols are switched inside TLS, with all that the session has for it.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct SwitchingTLSTests {
    private static let started = Peer.started("switching.py")

    private let peer: Peer
    private let session: Session

    init() async throws {
        peer = try await Self.started.value
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        session = Session(configuration: configuration)
    }

    private func connection(_ path: String, port: String = "tls") async throws -> any DuplexConnection {
        let answer = try await session.switchProtocols(to: "echo", Request(peer.url(port, path, scheme: "wss")))
        #expect(answer.response.status.code == 101)
        return try #require(answer.connection)
    }

    private func read(_ count: Int, _ connection: any DuplexConnection) async throws -> Data {
        var bytes = Data()
        while bytes.count < count, let more = try await connection.read() { bytes += more }
        return bytes
    }

    @Test(arguments: ["tls", "tls1.2"], [1, 1_000, 100_000, 4 << 20])
    func bytesComeBackAsTheyWereSent(_ port: String, _ count: Int) async throws {
        let connection = try await connection("/echo", port: port)
        // The bytes repeat after 8,192.
        let block = Data((0..<min(count, 8_192)).map { UInt8(truncatingIfNeeded: $0 &* 131 >> 5) })
        var sent = Data(capacity: count)
        while sent.count < count { sent += block.prefix(count - sent.count) }
        async let received = read(3 * count, connection)
        for _ in 1...3 { try await connection.write(sent) }
        #expect(try await received == sent + sent + sent)
        connection.close()
        await session.shutdown()
    }

    /// The bytes are in TLS already when the head is read, and the socket does not become ready for them.
    @Test func bytesInTheRecordOfTheHeadAreReceived() async throws {
        for _ in 0..<20 {
            let connection = try await connection("/first")
            #expect(try await read(5, connection) == Data("first".utf8))
            connection.close()
        }
        await session.shutdown()
    }

    @Test func smallRecordsAreReceived() async throws {
        let connection = try await connection("/records")
        #expect(try await read(100, connection) == Data(0..<100))
        await session.shutdown()
    }

    @Test func aSlowReaderReceivesEverything() async throws {
        let connection = try await connection("/flood")
        var count = 0
        while count < 8 << 20, let bytes = try await connection.read() {
            count += bytes.count
            for _ in 0..<100 { await Task.yield() }
        }
        #expect(count == 8 << 20)
        await session.shutdown()
    }

    @Test func aRefusalIsAResponse() async throws {
        let answer = try await session.switchProtocols(to: "echo", Request(peer.url("tls", "/no")))
        #expect(answer.response.status.code == 403 && answer.body == Data("body".utf8))
        await session.shutdown()
    }

    @Test func anUnknownAuthorityIsNotTrusted() async throws {
        let session = Session()
        await expectFailure([.untrusted]) {
            try await session.switchProtocols(to: "echo", Request(peer.url("tls", scheme: "wss"))).response
        }
        await session.shutdown()
    }

    @Test func clientCertificatesAndEvaluatorsApply() async throws {
        let folder = URL(filePath: peer.announcement.ca).deletingLastPathComponent()
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(peer.announcement.ca)]))
        configuration.tls.clientIdentity = ClientIdentity(
            certificate: .file(folder.appending(path: "client.pem").path))
        configuration.collectsServerTrust = true
        let session = Session(configuration: configuration)
        let answer = try await session.switchProtocols(to: "echo", Request(peer.url("mtls", "/echo")))
        #expect(answer.response.metrics.serverTrust != nil && answer.response.metrics.tls > .zero)
        try await SwitchingServer.check(answer)
        await session.shutdown()
    }

    /// With TLS 1.3, the server's alert comes in place of the response.
    @Test(arguments: ["mtls", "mtls1.2"])
    func aMissingClientCertificateIsNamed(_ port: String) async throws {
        let session = TrustPeer.session(try await TrustPeer.tls())
        let url = try await TrustPeer.started.value.url(port)
        await expectFailure([.tls]) { try await session.switchProtocols(to: "echo", Request(url)).response }
        await session.shutdown()
    }
}
