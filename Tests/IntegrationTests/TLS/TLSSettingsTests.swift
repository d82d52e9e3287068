import Foundation
import Testing
import Trellis

/// The versions and ciphers of TLS, the key log, and the rules of some hosts.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct TLSSettingsTests {
    @Test(arguments: [
        ("tls1.2", TLSVersion.v1_2, TLSVersion?.none, true), ("tls1.3", .v1_2, nil, true),
        ("tls1.2", .v1_3, nil, false), ("tls1.3", .v1_3, nil, true), ("tls1.3", .v1_2, .v1_2, false),
        ("tls1.2", .v1_2, .v1_2, true), ("tls1.3", .v1_3, .v1_3, true), ("tls1.0", .v1_2, nil, false),
        ("tls1.1", .v1_2, nil, false),
    ])
    func versions(_ port: String, _ minimum: TLSVersion, _ maximum: TLSVersion?, _ isAllowed: Bool) async throws {
        var tls = try await TrustPeer.tls()
        (tls.minimumVersion, tls.maximumVersion) = (minimum, maximum)
        if isAllowed {
            #expect(try await TrustPeer.answer(from: port, tls).hasPrefix("- "))
        } else {
            let error = try await TrustPeer.failure(.tls, from: port, tls)
            guard case .securityFailed(.version) = error.reason else {
                Issue.record("\(error)")
                return
            }
            #expect(!error.mayHaveSentBytes)
        }
    }

    @Test func settingsThatAreNotPossible() async throws {
        var tls = try await TrustPeer.tls()
        (tls.minimumVersion, tls.maximumVersion) = (.v1_3, .v1_2)
        _ = try await TrustPeer.failure(.invalidRequest, from: "valid", tls)
        (tls.minimumVersion, tls.maximumVersion) = (.v1_2, nil)
        tls.cipherList = "HIGH\0"
        _ = try await TrustPeer.failure(.invalidRequest, from: "valid", tls)
        tls.cipherList = "no such cipher"
        let error = try await TrustPeer.failure(.tls, from: "valid", tls)
        #expect(!error.mayHaveSentBytes)
    }

    @Test func ciphers() async throws {
        var tls = try await TrustPeer.tls()
        tls.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384"
        #expect(try await TrustPeer.answer(from: "tls1.2", tls).hasPrefix("- "))
        // The server's key is not one of RSA.
        tls.cipherList = "ECDHE-RSA-AES256-GCM-SHA384"
        _ = try await TrustPeer.failure(.tls, from: "tls1.2", tls)
        tls.tls13CipherSuites = "TLS_CHACHA20_POLY1305_SHA256"
        #expect(try await TrustPeer.answer(from: "tls1.3", tls).hasPrefix("- "))
    }

    @Test func theKeyLogIsWritten() async throws {
        let path = try temporaryFolder("key-log") + "/keys.log"
        try? FileManager.default.removeItem(atPath: path)
        var tls = try await TrustPeer.tls()
        #expect(try await TrustPeer.answer(from: "tls1.3", tls).hasPrefix("- "))
        #expect(!FileManager.default.fileExists(atPath: path))
        tls.keyLogFile = path
        #expect(try await TrustPeer.answer(from: "tls1.3", tls).hasPrefix("- "))
        #expect(try await TrustPeer.answer(from: "tls1.2", tls).hasPrefix("- "))
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("CLIENT_TRAFFIC_SECRET_0 ") })
        #expect(lines.contains { $0.hasPrefix("CLIENT_RANDOM ") })
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        tls.keyLogFile = "/nonexistent/keys.log"
        _ = try await TrustPeer.failure(.file, from: "tls1.3", tls)
    }

    // MARK: Hosts

    @Test func eachHostHasItsRules() async throws {
        let peer = try await TrustPeer.started.value
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(try await TrustPeer.file("second.pem"))]))
        var local = try await TrustPeer.tls()
        local.clientIdentity = ClientIdentity(certificate: .file(try await TrustPeer.file("combined.pem")))
        configuration.tlsForHosts[try HostPattern("localhost")] = local
        configuration.tlsForHosts[try HostPattern("**.unused.example")] =
            TLSConfiguration(authorities: .only([.file("/nonexistent.pem")]))
        let session = Session(configuration: configuration)
        for _ in 1...2 {
            #expect(try await session.string(peer.url("mtls", host: "localhost")).hasPrefix("ada "))
            #expect(try await session.string(peer.url("second")).hasPrefix("- "))
            for (port, host) in [("valid", "127.0.0.1"), ("second", "localhost")] {
                let error = await expectFailure([.untrusted]) { try await session.data(peer.url(port, host: host)) }
                #expect(error?.untrusted != nil)
            }
        }
        await session.shutdown()
    }

    @Test func curlCommandsShowTheRulesOfTheHost() async throws {
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file("a.pem")]))
        configuration.tlsForHosts[try HostPattern("*.example.com")] = .insecureWithoutAnyVerification()
        let session = Session(configuration: configuration)
        #expect(try session.cURLDescription(of: "https://example.com/").contains("--cacert a.pem"))
        #expect(try session.cURLDescription(of: "https://www.example.com/").contains("--insecure"))
        await session.shutdown()
    }
}
