import Foundation
import Testing
import Trellis

/// Clients authenticate with a certificate to nginx, which demands one, and to `openssl s_server`.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealTrustIdentityTests {
    private static let url = "https://mutual.example/"
    private static let passphrase = RealTrustCertificates.passphrase
    /// The options of an `openssl s_server` that demands a certificate.
    private static let demand = "-Verify 2 -verifyCAfile clients.pem -verify_return_error"

    private let server: RealTLSServer

    init() async throws { server = try await RealTLSServer.started.value }

    /// A form in which the certificate and its key are given.
    enum Form: String, CaseIterable, Sendable {
        case files, texts, encryptedKey, store, encryptedStore, storeBytes, encryptedStoreBytes
    }

    private func identity(_ form: Form) throws -> ClientIdentity {
        func bytes(_ name: String) throws -> CertificateSource {
            .bytes(try Data(contentsOf: URL(filePath: server.path(name))))
        }
        func file(_ name: String) -> CertificateSource { .file(server.path(name)) }
        let secret: @Sendable () async throws -> String = { Self.passphrase }
        return switch form {
        case .files: ClientIdentity(certificate: file("ada.chain"), key: file("ada.key"))
        case .texts: ClientIdentity(certificate: try bytes("ada.chain"), key: try bytes("ada.key"))
        case .encryptedKey:
            ClientIdentity(certificate: file("ada.chain"), key: file("secret.key"), passphrase: secret)
        case .store: ClientIdentity(certificate: file("ada.p12"))
        case .encryptedStore: ClientIdentity(certificate: file("secret.p12"), passphrase: secret)
        case .storeBytes: ClientIdentity(certificate: try bytes("ada.p12"))
        case .encryptedStoreBytes: ClientIdentity(certificate: try bytes("secret.p12"), passphrase: secret)
        }
    }

    private func session(_ identity: ClientIdentity?, port: Int? = nil) throws -> Session {
        func change(_ configuration: inout SessionConfiguration) { configuration.tls.clientIdentity = identity }
        return if let port { try server.session(port: port, change) } else { try server.session("nginx", change) }
    }

    @Test(arguments: Form.allCases)
    func nginxKnowsTheClient(_ form: Form) async throws {
        let session = try session(identity(form))
        for version in [HTTPVersionPolicy.http1Only, .automatic] {
            var request = Request(Self.url)
            request.httpVersion = version
            let text = try await session.string(request)
            #expect(text.hasPrefix("CN=ada "), "\(version)")
        }
        await session.shutdown()
    }

    @Test(arguments: Form.allCases, ["-tls1_2", "-tls1_3"])
    func opensslKnowsTheClient(_ form: Form, _ version: String) async throws {
        let run = try await server.serve("good", "\(Self.demand) \(version)")
        let session = try session(identity(form), port: run.port)
        #expect(try await session.string("https://good.example/page") == "real")
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 1, requests: 1))
    }

    /// nginx completes the handshake, and responds that the certificate is missing or not one of its clients.
    @Test(arguments: [
        (String?.none, "No required SSL certificate was sent"), ("eve", "The SSL certificate error"),
    ])
    func nginxRefuses(_ name: String?, _ words: String) async throws {
        let identity = name.map {
            ClientIdentity(certificate: .file(server.path("\($0).chain")), key: .file(server.path("\($0).key")))
        }
        let session = try session(identity)
        let (data, response) = try await session.data(Self.url)
        #expect(response.status.code == 400)
        #expect(String(decoding: data, as: UTF8.self).contains(words))
        await session.shutdown()
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"], [String?.none, "eve"])
    func opensslEndsTheHandshake(_ version: String, _ name: String?) async throws {
        let run = try await server.serve("good", "\(Self.demand) \(version)")
        let identity = name.map {
            ClientIdentity(certificate: .file(server.path("\($0).chain")), key: .file(server.path("\($0).key")))
        }
        let session = try session(identity, port: run.port)
        let error = await expectFailure([.tls]) { try await session.data("https://good.example/page") }
        #expect(error?.isRetryable == false)
        if name == nil {
            #expect(error?.identityFailure == .required, "\(error as Any)")
        } else if case .refused(let reason)? = error?.identityFailure {
            #expect(reason.contains("its authority is not known to the peer"), "\(reason)")
        } else {
            Issue.record("\(error as Any)")
        }
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 0, requests: 0))
    }

    /// The identity cannot be used. No connection is made: nginx receives no request.
    @Test(arguments: ["mismatch", "wrong passphrase", "no passphrase", "wrong passphrase of a store", "no file"])
    func anIdentityThatCannotBeUsed(_ what: String) async throws {
        let (chain, key) = (server.path("ada.chain"), server.path("ada.key"))
        let (secret, store, missing) = (server.path("secret.key"), server.path("secret.p12"), server.path("missing"))
        let wrong: @Sendable () async throws -> String = { "wrong" }
        let identity: ClientIdentity
        let failure: TrellisError.ClientIdentityFailure
        switch what {
        case "mismatch":
            identity = ClientIdentity(certificate: .file(chain), key: .file(server.path("berta.key")))
            failure = .mismatch(key: server.path("berta.key"), certificate: chain)
        case "wrong passphrase":
            identity = ClientIdentity(certificate: .file(chain), key: .file(secret), passphrase: wrong)
            failure = .wrongPassphrase(secret)
        case "no passphrase":
            identity = ClientIdentity(certificate: .file(chain), key: .file(secret))
            failure = .noPassphrase(secret)
        case "wrong passphrase of a store":
            identity = ClientIdentity(certificate: .file(store), passphrase: wrong)
            failure = .wrongPassphrase(store)
        default:
            identity = ClientIdentity(certificate: .file(missing), key: .file(key))
            failure = .file(path: missing, reason: "No such file or directory")
        }
        let session = try session(identity)
        let path = what.split(separator: " ").joined(separator: "-")
        let error = await expectFailure([what == "no file" ? .file : .tls]) {
            try await session.data("https://mutual.example/\(path)")
        }
        #expect(error?.identityFailure == failure, "\(error as Any)")
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false)
        await session.shutdown()
        let plain = try server.session()
        _ = try await plain.data("https://plain.example/after-\(path)")
        await plain.shutdown()
        let requests = try await server.requests(upTo: "/after-\(path)")
        #expect(!requests.contains("mutual.example /\(path)"))
    }

    /// The certificate is shown only to a server that is trusted.
    @Test func anUntrustedServerGetsNoCertificate() async throws {
        let run = try await server.serve("other", Self.demand)
        let session = try session(identity(.files), port: run.port)
        let error = await expectFailure([.untrusted]) { try await session.data("https://other.example/page") }
        #expect(error?.untrusted?.subject == "CN=other" && error?.isRetryable == false)
        await session.shutdown()
        let end = try await server.end(of: run)
        #expect(end == .init(handshakes: 0, requests: 0))
    }
}
