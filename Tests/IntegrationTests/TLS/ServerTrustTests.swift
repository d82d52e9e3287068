import Testing
import Trellis
import TrellisTesting

/// The certificates of a server are part of its response, if the request asks for them.
@Suite(.timeLimit(.minutes(1)), .serialized, .requiresPeers)
struct ServerTrustTests {
    private let peer: PinPeer

    init() async throws { peer = try await PinPeer() }

    @Test func theChainIsThereOnRequest() async throws {
        let session = peer.session()
        let url = try peer.url("chain")
        #expect(try await session.data(url).1.serverTrust == nil)
        // The connection of the first request is reused.
        let (_, response) = try await session.data(Request(url).collectingServerTrust())
        #expect(response.metrics.reusedConnection)
        let trust = try #require(response.serverTrust)
        #expect(trust.isValidated && trust.host == "127.0.0.1" && trust.revocationChecks.isEmpty)
        #expect(
            try trust.chain.map(\.publicKeyPin.description)
                == ["leaf", "intermediate", "root"].map { try peer.pin($0) })
        try #require(trust.chain.count == 3)
        #expect(trust.chain[0].subjectAlternativeNames.contains(.ipAddress("127.0.0.1")))
        #expect(trust.chain[0].issuer == trust.chain[1].subject && trust.sentChain.count == 2)
        #expect(try await session.data(url).1.serverTrust == nil)
        await session.shutdown()
    }

    @Test func aSessionCanCollectThemAll() async throws {
        let session = peer.session { $0.collectsServerTrust = true }
        for port in ["chain", "h2"] {
            let (_, response) = try await session.data(peer.url(port, port == "h2" ? "/ok" : "/close"))
            #expect(response.serverTrust?.chain.count == 3 && response.serverTrust?.isValidated == true)
        }
        #expect(try await peer.get(session, peer.url("chain")) == .init(request: 1, resumed: false))
        let (_, without) = try await session.data(Request(peer.url("chain")).collectingServerTrust(false))
        #expect(without.serverTrust == nil)
        let stream = try await session.stream(peer.url("chain"))
        #expect(stream.response.serverTrust?.chain.count == 3)
        await session.shutdown()
    }

    /// Another request's connection may have resumed a TLS session, which has no chain.
    @Test func aResumedSessionShowsTheServerAlone() async throws {
        let session = peer.session()
        _ = try await peer.get(session, peer.url("chain", "/close"))
        #expect(try await peer.get(session, peer.url("chain")).resumed)
        let (_, response) = try await session.data(Request(peer.url("chain")).collectingServerTrust())
        let trust = try #require(response.serverTrust)
        #expect(trust.chain.map(\.publicKeyPin.description) == [try peer.pin("leaf")] && !trust.isValidated)
        await session.shutdown()
    }

    @Test func withoutVerificationOnlyTheServersOwnCounts() async throws {
        let session = peer.session {
            $0.tls = .insecureWithoutAnyVerification()
            $0.collectsServerTrust = true
        }
        let (_, response) = try await session.data(peer.url("chain"))
        let trust = try #require(response.serverTrust)
        #expect(!trust.isValidated && trust.chain.count == 1 && trust.sentChain.count == 2)
        await session.shutdown()
    }

    @Test func plainRequestsHaveNone() async throws {
        let server = try LoopbackServer.http { _ in .text("plain") }
        let session = peer.session(ServerTrustManager(everyHost: try peer.evaluator(["stray"])))
        let (_, response) = try await session.data(Request(server.url()).collectingServerTrust())
        #expect(response.serverTrust == nil)
        await session.shutdown()
    }

    /// The error of a response that is not accepted has the certificates, too.
    @Test func errorsHaveThem() async throws {
        let session = peer.session { $0.collectsServerTrust = true }
        let error = await expectFailure([.serialization]) {
            try await session.decode([Int].self, from: Request(peer.url("chain")))
        }
        #expect(error?.metrics.serverTrust?.chain.count == 3)
        await session.shutdown()
    }

    /// The certificates of a server that the handshake has refused are those that were sent, without a proof of anything.
    @Test func anUntrustedServerShowsWhatItHasSent() async throws {
        let session = peer.session { $0.tls = TLSConfiguration() }
        let url = try peer.url("chain")
        let error = await expectFailure([.untrusted]) {
            try await session.data(Request(url).collectingServerTrust())
        }
        let trust = try #require(error?.metrics.serverTrust)
        #expect(!trust.isValidated && trust.host == "127.0.0.1")
        let sent = trust.sentChain.map(\.publicKeyPin.description)
        #expect(try sent == ["leaf", "intermediate"].map { try peer.pin($0) })
        #expect(trust.chain.map(\.publicKeyPin.description) == [try peer.pin("leaf")])
        let other = await expectFailure([.untrusted]) { try await session.data(url) }
        #expect(other != nil && other?.metrics.serverTrust == nil)
        await session.shutdown()
    }
}
