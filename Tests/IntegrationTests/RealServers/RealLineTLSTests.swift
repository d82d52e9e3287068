import Foundation
import Testing
import Trellis

/// Authorities from bytes and of single hosts, ciphers and the key log, with nginx and `openssl s_server`.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealLineTLSTests {
    private static let versions: [HTTPVersionPolicy] = [.http1Only, .automatic]

    private let server: RealTLSServer

    init() async throws { server = try await RealTLSServer.started.value }

    private func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: server.path(name))) }

    private func request(_ host: String, _ version: HTTPVersionPolicy, _ path: String = "/") -> Request {
        var request = Request("https://\(host).example\(path)")
        request.httpVersion = version
        return request
    }

    /// Requires that a host has an authority that is not trusted.
    private func isUnknown(
        _ host: String, _ session: Session, _ version: HTTPVersionPolicy = .automatic,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await expectFailure([.untrusted], sourceLocation) {
            try await session.data(request(host, version))
        }
        #expect(error?.untrusted?.rule == .unknownIssuer, "\(error as Any)", sourceLocation: sourceLocation)
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false, sourceLocation: sourceLocation)
    }

    // MARK: Authorities

    @Test(arguments: versions)
    func authoritiesFromBytes(_ version: HTTPVersionPolicy) async throws {
        let (root, second) = (try bytes("root.pem"), try bytes("second.pem"))
        let text = String(decoding: root, as: UTF8.self)
        let rows: [(authorities: CertificateAuthorities, trusted: [String], others: [String])] = [
            (.only([.bytes(root)]), ["good"], ["other"]), (.only([.bytes(second)]), ["other"], ["good"]),
            (.only([.pem(text), .bytes(second)]), ["good", "other"], []),
            (.only([.bytes(root + second)]), ["good", "other"], []),
            (.systemAnd([.bytes(root)]), ["good"], ["other"]), (.system, [], ["good", "other"]),
        ]
        for row in rows {
            let session = try server.session { $0.tls.authorities = row.authorities }
            for host in row.trusted {
                #expect(try await session.string(request(host, version)).hasPrefix("TLSv1.3 "), "\(row)")
            }
            for host in row.others { await isUnknown(host, session, version) }
            await session.shutdown()
        }
    }

    @Test(arguments: [("root.pem", true), ("second.pem", false)])
    func opensslWithAnAuthorityFromBytes(_ name: String, _ isTrusted: Bool) async throws {
        let run = try await server.serve("good")
        let authority = try bytes(name)
        let session = try server.session(port: run.port) { $0.tls.authorities = .only([.bytes(authority)]) }
        if isTrusted {
            #expect(try await session.string("https://good.example/page") == "real")
        } else {
            await isUnknown("good", session)
        }
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: isTrusted ? 1 : 0, requests: isTrusted ? 1 : 0))
    }

    /// Each host has an authority of its own, and the others have one that has issued nothing.
    @Test(arguments: versions)
    func eachHostHasItsAuthorities(_ version: HTTPVersionPolicy) async throws {
        let second = try bytes("second.pem")
        let root = TLSConfiguration(authorities: .only([.file(server.path("root.pem"))]))
        let other = TLSConfiguration(authorities: .only([.bytes(second)]))
        for isSwapped in [false, true] {
            let session = try server.session {
                $0.tls.authorities = .only([.file(server.path("stranger.pem"))])
                $0.tlsForHosts[try HostPattern("good.example")] = isSwapped ? other : root
                $0.tlsForHosts[try HostPattern("other.example")] = isSwapped ? root : other
            }
            for _ in 1...2 {
                for host in ["good", "other"] {
                    if isSwapped {
                        await isUnknown(host, session, version)
                    } else {
                        #expect(try await session.string(request(host, version)).hasPrefix("TLSv1.3 "), "\(host)")
                    }
                }
                await isUnknown("plain", session, version)
            }
            await session.shutdown()
        }
    }

    // MARK: Ciphers

    @Test(arguments: [
        ("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        // The order is the client's.
        ("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        // The key of nginx is not one of RSA.
        ("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    ])
    func nginxTellsTheCipher(_ list: String, _ cipher: String) async throws {
        let session = try server.session {
            $0.tls.maximumVersion = .v1_2
            $0.tls.cipherList = list
        }
        for version in Self.versions {
            #expect(try await session.string(request("good", version, "/cipher")) == "TLSv1.2 \(cipher)")
        }
        await session.shutdown()
    }

    @Test(arguments: [
        ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
        ("TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
        ("TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"),
    ])
    func nginxTellsTheSuite(_ list: String, _ suite: String) async throws {
        let session = try server.session {
            // The ciphers of TLS 1.2 are others.
            $0.tls.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384"
            $0.tls.tls13CipherSuites = list
        }
        for version in Self.versions {
            #expect(try await session.string(request("good", version, "/cipher")) == "TLSv1.3 \(suite)")
        }
        await session.shutdown()
    }

    /// The options of a server, and whether it has a cipher in common with the session.
    @Test(arguments: [
        ("-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256", true),
        ("-tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384", false),
        ("-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256", true),
        ("-tls1_3 -ciphersuites TLS_AES_256_GCM_SHA384", false),
    ])
    func aCipherInCommon(_ options: String, _ isAllowed: Bool) async throws {
        let run = try await server.serve("good", options)
        let session = try server.session(port: run.port) {
            $0.tls.cipherList = "ECDHE-ECDSA-AES128-GCM-SHA256"
            $0.tls.tls13CipherSuites = "TLS_CHACHA20_POLY1305_SHA256"
        }
        if isAllowed {
            #expect(try await session.string("https://good.example/page") == "real")
        } else {
            let error = await expectFailure([.tls]) { try await session.data("https://good.example/page") }
            #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false, "\(error as Any)")
        }
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: isAllowed ? 1 : 0, requests: isAllowed ? 1 : 0))
    }

    // MARK: The key log

    private func secrets(_ path: String) throws -> Set<String> {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
        return Set(lines.filter { !$0.hasPrefix("#") })
    }

    /// Both sides log the same secrets.
    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func bothSidesLogTheSameSecrets(_ version: String) async throws {
        let name = "keys-\(UUID().uuidString)"
        let path = server.path("\(name)-client.log")
        let run = try await server.serve("good", "\(version) -keylogfile \(name)-server.log")
        let session = try server.session(port: run.port) { $0.tls.keyLogFile = path }
        #expect(try await session.string("https://good.example/page") == "real")
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 1, requests: 1))
        let secrets = try secrets(path)
        #expect(try secrets == self.secrets(server.path("\(name)-server.log")))
        let label = version == "-tls1_2" ? "CLIENT_RANDOM " : "CLIENT_TRAFFIC_SECRET_0 "
        #expect(secrets.count { $0.hasPrefix(label) } == 1, "\(secrets.map { $0.prefix(30) })")
    }

    /// Each connection to nginx adds its secrets, those of resumed TLS sessions as well, and those of other sessions are not logged.
    @Test func eachConnectionIsLogged() async throws {
        let path = server.path("keys-\(UUID().uuidString).log")
        let (logging, silent) = (try server.session { $0.tls.keyLogFile = path }, try server.session())
        for count in 1...3 {
            let text = try await logging.string(request("good", .http1Only, "/close"))
            #expect(text == "TLSv1.3 . 1" || text == "TLSv1.3 r 1")
            _ = try await silent.data(request("good", .http1Only, "/close"))
            #expect(try secrets(path).count { $0.hasPrefix("CLIENT_TRAFFIC_SECRET_0 ") } == count)
        }
        await logging.shutdown()
        await silent.shutdown()
    }
}
