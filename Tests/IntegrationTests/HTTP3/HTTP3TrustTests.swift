import Testing
import Trellis
import TrellisTesting

/// Servers are evaluated over HTTP/3 as over other versions, if the running libcurl supports HTTP/3.
@Suite(
    .timeLimit(.minutes(3)), .serialized, .requiresPeers,
    .enabled(if: RunningLibcurl.hasHTTP3, "not for a libcurl without HTTP/3"))
struct HTTP3TrustTests {
    private static let started = Peer.started("http3.py")

    private let peer: Peer

    init() async throws { peer = try await Self.started.value }

    private func session(_ manager: ServerTrustManager?, isCollecting: Bool = false) -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.httpVersion = .http3Only
        configuration.serverTrustManager = manager
        configuration.collectsServerTrust = isCollecting
        return Session(configuration: configuration)
    }

    /// Returns the chain that the server shows.
    private func chain() async throws -> [Certificate] {
        let session = session(nil, isCollecting: true)
        let (_, response) = try await session.data(peer.url("h3", "/ok/2"))
        #expect(response.version == .http3)
        await session.shutdown()
        let trust = try #require(response.serverTrust)
        #expect(trust.isValidated && trust.tlsVersion == .v1_3 && trust.cipherSuite?.hasPrefix("TLS_") == true)
        return trust.chain
    }

    @Test func everyPinOfTheChainIsEnough() async throws {
        let chain = try await chain()
        #expect(chain.count == 2)
        for certificate in chain {
            let pins = try PublicKeysTrustEvaluator(keys: [certificate.publicKeyPin], allowsSinglePin: true)
            let session = session(ServerTrustManager(everyHost: pins))
            for _ in 1...2 {
                let (data, response) = try await session.data(peer.url("h3", "/ok/2"))
                #expect(data.count == 2 && response.version == .http3)
            }
            await session.shutdown()
        }
    }

    @Test func aWrongPinLetsNothingThrough() async throws {
        let pins = try PublicKeysTrustEvaluator(
            pins: ["sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="], allowsSinglePin: true)
        let session = session(ServerTrustManager(everyHost: pins))
        for _ in 1...2 {
            let error = await expectFailure([.pinMismatch]) {
                try await session.data(Request(peer.url("h3", "/echo"), method: .post, body: .string("secret")))
            }
            #expect(error?.mayHaveSentBytes == false)
        }
        await session.shutdown()
    }

    private struct Slow: ServerTrustEvaluating {
        func evaluate(_ trust: ServerTrust, forHost host: String) async throws { await Task.yield() }
    }

    @Test func evaluatorsOfTheUsersOwnAreAsked() async throws {
        let session = session(ServerTrustManager(everyHost: Slow()))
        let (data, _) = try await session.data(
            Request(peer.url("h3", "/echo"), method: .post, body: .string("secret")))
        #expect(String(decoding: data, as: UTF8.self) == "secret")
        await session.shutdown()
    }
}
