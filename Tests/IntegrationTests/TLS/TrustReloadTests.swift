import CurlEngine
import Foundation
import Testing
import Trellis

/// Files of certificates that change under a running session.
@Suite(.timeLimit(.minutes(1)), .requiresPeers)
struct TrustReloadTests {
    /// The changes of files that the requests of a session have told.
    private final class Changes: EventMonitor {
        private let kinds = Locked<[TrellisError.Kind?]>([])
        /// The kind of each change's error; `nil` for a change that is used.
        var all: [TrellisError.Kind?] { kinds.withLock { $0 } }

        func handle(_ event: RequestEvent) async {
            guard case .trustFilesChanged(_, let error) = event.kind else { return }
            kinds.withLock { $0.append((error as? TrellisError)?.kind) }
        }
    }

    private static func copy(_ name: String, to path: String) async throws {
        let data = try Data(contentsOf: URL(filePath: try await TrustPeer.file(name)))
        try data.write(to: URL(filePath: path), options: .atomic)
    }

    private static func session(_ tls: TLSConfiguration, _ changes: Changes?) -> Session {
        var configuration = SessionConfiguration()
        configuration.tls = tls
        configuration.tls.fileCheckInterval = .zero
        if let changes { configuration.eventMonitors = [changes] }
        return Session(configuration: configuration)
    }

    @Test(arguments: [true, false])
    func aNewIdentityIsUsedForNewRequests(_ isObserved: Bool) async throws {
        let folder = try temporaryFolder("identity-\(isObserved)")
        let (certificate, key) = ("\(folder)/client.pem", "\(folder)/client.key")
        try await Self.copy("client.pem", to: certificate)
        try await Self.copy("client.key", to: key)
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(certificate: .file(certificate), key: .file(key))
        let changes = Changes()
        let session = Self.session(tls, isObserved ? changes : nil)
        let url = try await TrustPeer.started.value.url("mtls")
        let first = try await session.string(url)
        #expect(first.hasPrefix("ada "))
        #expect(try await session.string(url) == first)
        // The key is not that of the certificate yet: the old identity stays, and its connection.
        try await Self.copy("renewed.pem", to: certificate)
        #expect(try await session.string(url) == first)
        #expect(try await session.string(url) == first)
        try await Self.copy("renewed.key", to: key)
        let second = try await session.string(url)
        #expect(second.hasPrefix("berta "))
        #expect(try await session.string(url) == second)
        // The same contents are no change.
        try await Self.copy("renewed.key", to: key)
        #expect(try await session.string(url) == second)
        try FileManager.default.removeItem(atPath: key)
        #expect(try await session.string(url) == second)
        // The files are as they were in the beginning: neither the first connection nor its TLS session is used.
        try await Self.copy("client.pem", to: certificate)
        try await Self.copy("client.key", to: key)
        let third = try await session.string(url)
        #expect(third.hasPrefix("ada ") && third != first)
        await session.shutdown()
        if isObserved { #expect(changes.all == [.tls, nil, .file, nil]) }
    }

    @Test func newAuthoritiesAreUsedForNewRequests() async throws {
        let path = try temporaryFolder("authorities") + "/ca.pem"
        try await Self.copy("ca.pem", to: path)
        for authorities: CertificateAuthorities in [.only([.file(path)]), .systemAnd([.file(path)])] {
            try await Self.copy("ca.pem", to: path)
            let changes = Changes()
            let session = Self.session(TLSConfiguration(authorities: authorities), changes)
            let peer = try await TrustPeer.started.value
            let (valid, second) = (try peer.url("valid"), try peer.url("second"))
            #expect(try await session.string(valid).hasPrefix("- "))
            await expectFailure([.untrusted]) { try await session.string(second) }
            // A file without certificates changes nothing.
            try Data("nothing".utf8).write(to: URL(filePath: path), options: .atomic)
            #expect(try await session.string(valid).hasPrefix("- "))
            try await Self.copy("second.pem", to: path)
            #expect(try await session.string(second).hasPrefix("- "))
            // Neither the open connection nor its TLS session is used.
            await expectFailure([.untrusted]) { try await session.string(valid) }
            await session.shutdown()
            #expect(changes.all == [.file, nil])
        }
    }

    @Test func aRequestInFlightContinuesOnTheOldConnection() async throws {
        let path = try temporaryFolder("in-flight") + "/client.pem"
        try await Self.copy("combined.pem", to: path)
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(certificate: .file(path))
        let session = Self.session(tls, nil)
        let url = try await TrustPeer.started.value.url("mtls")
        let stream = try await session.stream(url)
        try await Self.copy("renewed.pem", to: path)
        let pair = try String(contentsOfFile: try await TrustPeer.file("renewed.key"), encoding: .utf8)
        let text = try String(contentsOfFile: path, encoding: .utf8) + pair
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        #expect(try await session.string(url).hasPrefix("berta "))
        var body = Data()
        for try await chunk in stream.body { body += chunk }
        #expect(String(decoding: body, as: UTF8.self).hasPrefix("ada "))
        await session.shutdown()
    }

    @Test func filesThatAppearLater() async throws {
        let path = try temporaryFolder("later") + "/ca.pem"
        try? FileManager.default.removeItem(atPath: path)
        let session = Self.session(TLSConfiguration(authorities: .only([.file(path)])), nil)
        let url = try await TrustPeer.started.value.url("valid")
        await expectFailure([.file]) { try await session.data(url) }
        try await Self.copy("ca.pem", to: path)
        #expect(try await session.string(url).hasPrefix("- "))
        await session.shutdown()
    }
}
