import CurlEngine
import Testing
import Trellis
import TrellisTesting

/// The certificates of a server are part of its response, if the request asks for them.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct ServerTrustTests {
    private let peer: PinPeer

    init() async throws { peer = try await PinPeer() }

    @Test func theChainIsThereOnRequest() async throws {
        let session = peer.session()
        let url = try peer.url("chain")
        #expect(try await session.data(url).1.serverTrust == nil)
        // The connection of the first request is reused.
        let (_, response) = try await session.data(Request(url).collectingServerTrust())
        #expect(response.metrics.isReusedConnection)
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

    @Test(arguments: [(.v1_2, "ECDHE-ECDSA-AES128-GCM-SHA256"), (.v1_3, nil)] as [(TLSVersion, String?)])
    func theVersionAndTheCipherSuiteAreThoseOfTheConnection(_ version: TLSVersion, _ suite: String?) async throws {
        let session = peer.session {
            ($0.tls.minimumVersion, $0.tls.maximumVersion, $0.tls.cipherList) = (version, version, suite)
            $0.collectsServerTrust = true
        }
        for number in 1...2 {
            let (_, response) = try await session.data(peer.url("chain"))
            #expect(response.metrics.isReusedConnection == (number == 2))
            let trust = try #require(response.serverTrust)
            #expect(trust.tlsVersion == version)
            #expect(suite.map { trust.cipherSuite == $0 } ?? (trust.cipherSuite?.hasPrefix("TLS_") == true))
        }
        await session.shutdown()
    }

    /// Another request's connection has resumed a TLS session, which has no chain. A complete handshake takes its place.
    @Test func aConnectionWithoutAChainIsReplaced() async throws {
        let session = peer.session()
        _ = try await peer.get(session, peer.url("chain", "/close"))
        #expect(try await peer.get(session, peer.url("chain")).resumed)
        for number in 1...2 {
            let request = Request(try peer.url("chain"), method: .post, body: .string("abc")).collectingServerTrust()
            let (_, response) = try await session.data(request)
            #expect(response.serverTrust?.chain.count == 3 && response.serverTrust?.isValidated == true)
            #expect(response.metrics.isReusedConnection == (number == 2) && response.metrics.attemptCount == 1)
        }
        let last = try await peer.get(session, peer.url("chain"))
        #expect(!last.resumed && last.request == 3)
        await session.shutdown()
    }

    /// Several connections without a chain may be idle.
    @Test func allIdleConnectionsWithoutAChainAreReplaced() async throws {
        let made = try await sessionWithTwoResumedConnections()
        let session = try #require(made)
        let (_, response) = try await session.data(Request(peer.url("chain")).collectingServerTrust())
        #expect(response.serverTrust?.chain.count == 3 && response.serverTrust?.isValidated == true)
        #expect(!response.metrics.isReusedConnection && response.metrics.attemptCount == 1)
        await session.shutdown()
    }

    /// Returns a session with two idle connections that have resumed a TLS session; `nil` if one request was always over before the other.
    private func sessionWithTwoResumedConnections() async throws -> Session? {
        let url = try peer.url("chain")
        for _ in 0..<50 {
            let session = peer.session()
            _ = try await peer.get(session, peer.url("chain", "/close"))
            async let one = peer.get(session, url)
            async let other = peer.get(session, url)
            let answers = try await [one, other]
            if answers.allSatisfy({ $0 == .init(request: 1, resumed: true) }) { return session }
            await session.shutdown()
        }
        return nil
    }

    /// Another request has a stream on the connection without a chain: that connection stays, and another with a chain is made beside it.
    @Test func aConnectionWithoutAChainStaysForItsStreams() async throws {
        let session = peer.session()
        let held = try await streamOnResumedConnection(session)
        for isReused in [false, true] {
            let (_, response) = try await session.data(Request(peer.url("h2", "/ok")).collectingServerTrust())
            #expect(response.serverTrust?.chain.count == 3 && response.serverTrust?.isValidated == true)
            #expect(response.metrics.isReusedConnection == isReused && response.metrics.attemptCount == 1)
        }
        #expect(try await session.data(peer.url("h2", "/ok")).1.metrics.isReusedConnection)
        held.cancel()
        await session.shutdown()
    }

    /// Without a place for a further connection, the request does not wait, and gets the server's own certificate alone.
    @Test(arguments: [ConnectionLimits(perOrigin: 1), ConnectionLimits(total: 1)])
    func theLimitOfConnectionsHoldsForTheChain(_ limits: ConnectionLimits) async throws {
        let session = peer.session { $0.limits = limits }
        let held = try await streamOnResumedConnection(session)
        let (_, response) = try await session.data(Request(peer.url("h2", "/ok")).collectingServerTrust())
        #expect(response.serverTrust?.chain.count == 1)
        #expect(response.metrics.isReusedConnection && response.metrics.attemptCount == 1)
        held.cancel()
        await session.shutdown()
    }

    /// Returns a response whose body does not end, on a connection that has resumed the TLS session of an earlier one.
    private func streamOnResumedConnection(_ session: Session) async throws -> StreamResponse {
        // The server closes the connection.
        _ = try? await session.data(peer.url("h2", "/truncated/close"))
        return try await session.stream(peer.url("h2", "/silent/in-body"))
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
