import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis

/// Clients authenticate with a certificate.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct ClientIdentityTests {
    /// The number of calls of a closure.
    private actor Counter {
        private(set) var count = 0
        func increment() { count += 1 }
    }

    private static func tls(
        _ certificate: String, _ key: String? = nil, passphrase: (@Sendable () async throws -> String)? = nil
    ) async throws -> TLSConfiguration {
        var tls = try await TrustPeer.tls()
        var keySource: CertificateSource?
        if let key { keySource = .file(try await TrustPeer.file(key)) }
        tls.clientIdentity = ClientIdentity(
            certificate: .file(try await TrustPeer.file(certificate)), key: keySource, passphrase: passphrase)
        return tls
    }

    @Test(arguments: [
        ("client.pem", "client.key"), ("combined.pem", nil), ("client.p12", nil), ("client.p12", "client.key"),
        ("client.pem", "combined.pem"),
    ])
    func formsOfIdentities(_ certificate: String, _ key: String?) async throws {
        let tls = try await Self.tls(certificate, key)
        for port in ["mtls", "mtls1.2", "wants"] {
            #expect(try await TrustPeer.answer(from: port, tls).hasPrefix("ada "), "\(port)")
        }
        #expect(try await TrustPeer.answer(from: "valid", tls).hasPrefix("- "))
    }

    /// The requests of others may share the connection (RFC 9113, section 9.2.3).
    @Test func noIdentityIsShownAfterTheHandshakeOverHTTP2() async throws {
        let tls = try await Self.tls("client.pem", "client.key")
        let error = await #expect(throws: TrellisError.self) {
            try await TrustPeer.answer(from: "asks-later", tls)
        }
        #expect(error?.description.contains("SSL_read") == true, "\(error.debugDescription)")
    }

    @Test func bytesInPlaceOfFiles() async throws {
        var tls = try await TrustPeer.tls()
        let store = try Data(contentsOf: URL(filePath: try await TrustPeer.file("client.p12")))
        let pem = try String(contentsOfFile: try await TrustPeer.file("combined.pem"), encoding: .utf8)
        for source: CertificateSource in [.bytes(store), .pem(pem)] {
            tls.clientIdentity = ClientIdentity(certificate: source)
            #expect(try await TrustPeer.answer(from: "mtls", tls).hasPrefix("ada "))
        }
    }

    @Test(arguments: [("client.pem", "encrypted.key"), ("encrypted.p12", nil)])
    func thePassphraseIsAskedOnceIfItIsNeeded(_ certificate: String, _ key: String?) async throws {
        let counter = Counter()
        let session = TrustPeer.session(
            try await Self.tls(certificate, key) {
                await counter.increment()
                return TrustPeer.passphrase
            })
        let url = try await TrustPeer.started.value.url("mtls")
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...4 { group.addTask { try await session.string(url) } }
            for try await text in group { #expect(text.hasPrefix("ada ")) }
        }
        #expect(await counter.count == 1)
        await session.shutdown()
        let plain = try await Self.tls("combined.pem") {
            await counter.increment()
            return "none"
        }
        #expect(try await TrustPeer.answer(from: "mtls", plain).hasPrefix("ada "))
        #expect(await counter.count == 1)
    }

    struct NoPassphrase: Error, Equatable {}

    @Test(arguments: [("client.pem", "encrypted.key"), ("encrypted.p12", nil)])
    func passphrasesThatAreWrongOrMissing(_ certificate: String, _ key: String?) async throws {
        let path = try await TrustPeer.file(key ?? certificate)
        for wrong in ["wrong", "", "pa:ss wörd\0", "PA:SS WÖRD"] {
            let tls = try await Self.tls(certificate, key) { wrong }
            let error = try await TrustPeer.failure(.tls, from: "mtls", tls)
            #expect(error.identityFailure == .wrongPassphrase(path), "\(error)")
        }
        let missing = try await TrustPeer.failure(.tls, from: "mtls", Self.tls(certificate, key))
        #expect(missing.identityFailure == .noPassphrase(path))
        let failing = try await Self.tls(certificate, key) { throw NoPassphrase() }
        let error = try await TrustPeer.failure(.tls, from: "mtls", failing)
        #expect(error.identityFailure == .noPassphrase(path) && error.underlying is NoPassphrase)
        #expect(!error.mayHaveSentBytes)
    }

    /// A key whose passphrase is derived at once: `openssl pkcs8 -topk8 -v2 aes-256-cbc -iter 1`.
    private static let quickKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHrMFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAgJW3R+3bPN3wIBATAM
        BggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ+MyVlMGvMAVgRQhTXyJkxwSBkBOI
        BGpAXaFuD3QjfyUZBpOsz/Zd4CQ62O1xPoLUs3Rb/MkevvYOJL0PcC0U2MVncsS/
        Qt9sosBnQTup6nLvId3A4EfOkngEKicxW98a4rQn+gyZwZn/KLhl/2b6H+GqcT0G
        5WpDl/kPT+sD1O7GU1Pa1hL6/sinhm0S4Wg5zx1enslfNYLos8Bzta1rsNUx5A==
        -----END ENCRYPTED PRIVATE KEY-----

        """

    /// The numbers of wrong passphrases, of which one in some 150 decrypts the key to bytes that look like another key at first: these five
    /// are the first ones.
    private static let wrongNumbers = Scale.isFull ? Array(1...1_500) : Array(1...50) + [185, 356, 668, 747, 782]

    @Test func noWrongPassphraseIsTakenForAnUnknownAlgorithm() async throws {
        let certificate = try await TrustPeer.file("client.pem")
        let bytes = ([UInt8](try Data(contentsOf: URL(filePath: certificate))), [UInt8](Self.quickKey.utf8))
        var failures: [ClientCertificate.Failure: Int] = [:]
        for number in Self.wrongNumbers {
            do throws(ClientCertificate.Failure) {
                _ = try ClientCertificate.pem(bytes.0, key: bytes.1, passphrase: "wrong \(number)")
            } catch {
                failures[error, default: 0] += 1
            }
        }
        #expect(failures == [.wrongPassphrase: Self.wrongNumbers.count])
    }

    @Test func filesThatCannotBeUsed() async throws {
        func failure(_ certificate: String, _ key: String?, _ kind: TrellisError.Kind) async throws
            -> TrellisError.ClientIdentityFailure?
        {
            let error = try await TrustPeer.failure(kind, from: "mtls", Self.tls(certificate, key))
            #expect(!error.mayHaveSentBytes)
            return error.identityFailure
        }
        let (missing, other) = (try await TrustPeer.file("missing"), try await TrustPeer.file("empty.crl"))
        let client = try await TrustPeer.file("client.pem")
        #expect(try await failure("missing", nil, .file) == .file(path: missing, reason: "No such file or directory"))
        #expect(
            try await failure("client.pem", "missing", .file)
                == .file(path: missing, reason: "No such file or directory"))
        #expect(try await failure("empty.crl", "client.key", .file) == .noCertificate(other))
        #expect(try await failure("client.pem", nil, .file) == .noKey(client))
        #expect(try await failure("client.pem", "empty.crl", .file) == .noKey(other))
        let (key, store) = (try await TrustPeer.file("renewed.key"), try await TrustPeer.file("client.p12"))
        for (name, certificate) in [("client.pem", client), ("client.p12", store)] {
            let failure = try await failure(name, "renewed.key", .tls)
            #expect(failure == .mismatch(key: key, certificate: certificate))
        }
    }

    /// OpenSSL itself does not accept these: the key is too short for its security level, the cipher is not loaded.
    @Test func whatOpenSSLDoesNotAccept() async throws {
        let legacy = "old.p12 is encrypted with an algorithm that OpenSSL has only in its legacy provider"
        func legacyKey(_ name: String) -> String { legacy.replacing("old.p12", with: name) }
        for (file, key, text) in [
            ("weak.pem", nil, "key too small"), ("old.p12", nil, legacy),
            ("client.pem", "md5.key", legacyKey("md5.key")), ("client.pem", "des.key", legacyKey("des.key")),
        ] {
            let tls = try await Self.tls(file, key) { TrustPeer.passphrase }
            let error = try await TrustPeer.failure(.tls, from: "mtls", tls)
            guard case .unusable(let reason) = error.identityFailure else {
                Issue.record("\(error)")
                continue
            }
            #expect(reason.contains(text) && !error.mayHaveSentBytes, "\(reason)")
        }
    }

    /// The chain would be another one without its malformed certificate.
    @Test(arguments: ["AAAA\n-----END CERTIFICATE-----\n", "!\n-----END CERTIFICATE-----\n", "AAAA\n"])
    func aMalformedIssuerIsNotLeftOut(_ rest: String) async throws {
        let key = [UInt8](try Data(contentsOf: URL(filePath: try await TrustPeer.file("client.key"))))
        let chain = [UInt8](try Data(contentsOf: URL(filePath: try await TrustPeer.file("client.pem"))))
        let broken = chain + "-----BEGIN CERTIFICATE-----\n\(rest)".utf8
        #expect(try ClientCertificate.pem(chain, key: key, passphrase: nil).count > chain.count)
        #expect(throws: ClientCertificate.Failure.self) {
            try ClientCertificate.pem(broken, key: key, passphrase: nil)
        }
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(
            certificate: .pem(String(decoding: broken, as: UTF8.self)),
            key: .file(try await TrustPeer.file("client.key")))
        let error = try await TrustPeer.failure(.tls, from: "mtls", tls)
        #expect(error.description.contains("one of the certificates in") && error.description.hasSuffix("is malformed"))
    }

    /// A passphrase for the server of proxy scripts is asked once in a session, however many scripts it has.
    @Test(.requiresPAC) func thePassphraseForScriptsIsAskedOnce() async throws {
        let counter = Counter()
        var configuration = SessionConfiguration()
        configuration.tlsForHosts[try HostPattern("127.0.0.1")] = try await Self.tls("client.pem", "encrypted.key") {
            await counter.increment()
            return TrustPeer.passphrase
        }
        let session = Session(configuration: configuration)
        for name in ["a", "b"] {
            let script = try await PACScript.url(TrustPeer.started.value.url("mtls", "/\(name).pac"))
            let error = await expectFailure([.proxy]) {
                try await session.data(Request("http://far.invalid/").withProxy(.automatic(script)))
            }
            // The server responds with a text that is no script.
            #expect(error?.description.contains("cannot be fetched") == false)
        }
        #expect(await counter.count == 1)
        await session.shutdown()
    }

    // MARK: Servers

    @Test(arguments: ["mtls", "mtls1.2"])
    func aServerThatRequiresACertificate(_ port: String) async throws {
        let error = try await TrustPeer.failure(.tls, from: port, TrustPeer.tls())
        #expect(error.identityFailure == .required, "\(error)")
        #expect(try await TrustPeer.answer(from: "wants", TrustPeer.tls()).hasPrefix("- "))
    }

    @Test func aServerThatDoesNotAcceptTheCertificate() async throws {
        for (port, certificate) in [("mtls-other", "client.pem"), ("mtls", "expired-client.pem")] {
            let error = try await TrustPeer.failure(.tls, from: port, Self.tls(certificate, "client.key"))
            guard case .refused(let reason) = error.identityFailure else {
                Issue.record("\(error)")
                return
            }
            #expect(reason.contains("alert"), "\(reason)")
        }
    }

    /// The certificate is shown only to a server that is trusted.
    @Test func anUntrustedServerGetsNoCertificate() async throws {
        var tls = try await Self.tls("combined.pem")
        tls.authorities = .system
        let error = try await TrustPeer.failure(.untrusted, from: "mtls", tls)
        #expect(error.untrusted?.rule == .unknownIssuer)
        tls = .insecureWithoutAnyVerification()
        tls.clientIdentity = ClientIdentity(certificate: .file(try await TrustPeer.file("combined.pem")))
        #expect(try await TrustPeer.answer(from: "mtls", tls).hasPrefix("ada "))
    }

    /// Requests wait no longer than the limit of the passphrase, although the closure does not end with its task.
    @Test func aPassphraseThatDoesNotComeInTime() async throws {
        let isCancelled = Locked(false)
        var tls = try await TrustPeer.tls()
        let key = try await TrustPeer.file("encrypted.key")
        tls.clientIdentity = ClientIdentity(
            certificate: .file(try await TrustPeer.file("client.pem")), key: .file(key),
            passphraseTimeout: .milliseconds(20)
        ) {
            await withTaskCancellationHandler {
                // Lasts until the end of the process.
                await Task { for await _ in AsyncStream<Void>.makeStream().stream {} }.value
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
            return ""
        }
        let error = try await TrustPeer.failure(.tls, from: "mtls", tls)
        #expect(error.identityFailure == .noPassphrase(key))
        // The closure may begin after the limit.
        while !isCancelled.withLock({ $0 }) {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(error.underlying.map { "\($0)" } == "the passphrase was not returned within 0.02 seconds")
    }
}
