import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Files of certificates that change under a running session.
///
/// A request waits for the read of a change for a second, and is sent with the earlier contents after that. Therefore, requests are sent
/// until the change shows.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct TrustReloadTests {
    /// The changes of files that the requests of a session have told.
    private final class Changes: EventMonitor {
        private let kinds = Locked<[TrellisError.Kind?]>([])
        private let names = Locked<[[String]]>([])
        /// The kind of each change's error; `nil` for a change that is used.
        var all: [TrellisError.Kind?] { kinds.withLock { $0 } }
        /// The names of each change's files.
        var files: [[String]] { names.withLock { $0 } }

        func handle(_ event: RequestEvent) async {
            guard case .trustFilesChanged(let paths, let error) = event.kind else { return }
            names.withLock { $0.append(paths.map { URL(filePath: $0).lastPathComponent }) }
            kinds.withLock { $0.append((error as? TrellisError)?.kind) }
        }
    }

    private static func copy(_ name: String, to path: String) async throws {
        let data = try Data(contentsOf: URL(filePath: try await TrustPeer.file(name)))
        try data.write(to: URL(filePath: path), options: .atomic)
    }

    /// Returns a session with one engine, and so one connection for requests one after another.
    private static func session(_ tls: TLSConfiguration, _ changes: Changes?) -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = .one
        configuration.tls = tls
        configuration.tls.fileCheckInterval = .zero
        if let changes { configuration.eventMonitors = [changes] }
        return Session(configuration: configuration)
    }

    /// Returns the first response with another beginning than the earlier ones.
    private static func string(_ session: Session, _ url: String, after earlier: String) async throws -> String {
        while true {
            let text = try await session.string(url)
            if !text.hasPrefix(earlier) { return text }
            try Task.checkCancellation()
        }
    }

    /// Sends requests, whose responses begin with a text, until a number of changes was told.
    private static func repeats(
        _ text: String, _ session: Session, _ url: String, until count: Int, of changes: Changes,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        while changes.all.count < count {
            let answer = try await session.string(url)
            try #require(answer.hasPrefix(text), sourceLocation: sourceLocation)
            try Task.checkCancellation()
        }
    }

    /// Sends requests until their server is trusted.
    private static func becomesTrusted(_ session: Session, _ url: String) async throws {
        while true {
            do {
                _ = try await session.data(url)
                return
            } catch let error as TrellisError where error.untrusted != nil {
                try Task.checkCancellation()
            }
        }
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
        for _ in 1...2 { #expect(try await session.string(url) == first) }
        if isObserved { try await Self.repeats(first, session, url, until: 1, of: changes) }
        try await Self.copy("renewed.key", to: key)
        let second = try await Self.string(session, url, after: first)
        #expect(second.hasPrefix("berta "))
        #expect(try await session.string(url) == second)
        if isObserved { try await Self.repeats(second, session, url, until: 2, of: changes) }
        // The same contents are no change.
        try await Self.copy("renewed.key", to: key)
        #expect(try await session.string(url) == second)
        try FileManager.default.removeItem(atPath: key)
        #expect(try await session.string(url) == second)
        if isObserved { try await Self.repeats(second, session, url, until: 3, of: changes) }
        // The files are as they were in the beginning: neither the first connection nor its TLS session is used.
        try await Self.copy("client.pem", to: certificate)
        try await Self.copy("client.key", to: key)
        let third = try await Self.string(session, url, after: second)
        #expect(third.hasPrefix("ada ") && third != first)
        if isObserved { try await Self.repeats(third, session, url, until: 4, of: changes) }
        await session.shutdown()
        if isObserved {
            #expect(changes.all == [.tls, nil, .file, nil])
            // The authorities have not changed.
            let both = ["client.key", "client.pem"]
            #expect(changes.files == [["client.pem"], both, ["client.key"], both])
        }
    }

    /// A passphrase that cannot be obtained once is asked for again, although the files have not changed since.
    @Test func aPassphraseThatIsMissingForAMoment() async throws {
        struct Unreachable: Error {}
        let path = try temporaryFolder("moment") + "/client.key"
        try await Self.copy("encrypted.key", to: path)
        let isReachable = Locked(true)
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(
            certificate: .file(try await TrustPeer.file("client.pem")), key: .file(path)
        ) {
            guard isReachable.withLock({ $0 }) else { throw Unreachable() }
            return TrustPeer.passphrase
        }
        let changes = Changes()
        let session = Self.session(tls, changes)
        let url = try await TrustPeer.started.value.url("mtls")
        #expect(try await session.string(url).hasPrefix("ada "))
        isReachable.withLock { $0 = false }
        let other = try Data(contentsOf: URL(filePath: path)) + Data("\n".utf8)
        try other.write(to: URL(filePath: path), options: .atomic)
        for _ in 1...3 { #expect(try await session.string(url).hasPrefix("ada ")) }
        try await Self.repeats("ada ", session, url, until: 1, of: changes)
        isReachable.withLock { $0 = true }
        try await Self.repeats("ada ", session, url, until: 2, of: changes)
        await session.shutdown()
        // The failure is told once.
        #expect(changes.all == [.tls, nil])
    }

    /// Requests for which there is an earlier identity do not wait for a passphrase that does not come.
    @Test func aPassphraseThatDoesNotCome() async throws {
        let path = try temporaryFolder("hanging") + "/client.key"
        try await Self.copy("encrypted.key", to: path)
        let count = Locked(0)
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(
            certificate: .file(try await TrustPeer.file("client.pem")), key: .file(path)
        ) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            // Lasts until the end of the process.
            if number > 1 { for await _ in AsyncStream<Void>.makeStream().stream {} }
            return TrustPeer.passphrase
        }
        let session = Self.session(tls, nil)
        let url = try await TrustPeer.started.value.url("mtls")
        #expect(try await session.string(url).hasPrefix("ada "))
        let other = try Data(contentsOf: URL(filePath: path)) + Data("\n".utf8)
        try other.write(to: URL(filePath: path), options: .atomic)
        for _ in 1...2 { #expect(try await session.string(url).hasPrefix("ada ")) }
        // The passphrase is asked for beside the requests.
        while count.withLock({ $0 }) < 2 {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(count.withLock { $0 } == 2)
        await session.shutdown()
    }

    /// Requests without TLS need none of its files.
    @Test func requestsWithoutTLSReadNothing() async throws {
        let server = try LoopbackServer.http { _ in .text("plain") }
        let session = Self.session(TLSConfiguration(authorities: .only([.file("/nonexistent.pem")])), nil)
        #expect(try await session.string(server.url("/")) == "plain")
        let handle = session.request(server.url("/"))
        #expect(try await handle.data() == Data("plain".utf8))
        await expectFailure([.file]) { try await session.data("https://127.0.0.1:9/") }
        await session.shutdown()
    }

    /// The host might have asked for https, but has not.
    @Test func requestsWithoutTLSReadNothingBesideAnHSTSStore() async throws {
        let server = try LoopbackServer.http { _ in .text("plain") }
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file("/nonexistent.pem")]))
        configuration.hsts = HSTSStore()
        let session = Session(configuration: configuration)
        #expect(try await session.string(server.url("/")) == "plain")
        #expect(try await session.request(server.url("/")).data() == Data("plain".utf8))
        await session.shutdown()
    }

    /// A request that was made before a change, and is started after it, uses the new files.
    @Test func aHandleThatIsStartedLater() async throws {
        let path = try temporaryFolder("handle") + "/ca.pem"
        try await Self.copy("ca.pem", to: path)
        let session = Self.session(TLSConfiguration(authorities: .only([.file(path)])), nil)
        let peer = try await TrustPeer.started.value
        #expect(try await session.string(peer.url("valid")).hasPrefix("- "))
        let second = try peer.url("second")
        let handle = session.request(second)
        try await Self.copy("second.pem", to: path)
        try await Self.becomesTrusted(session, second)
        #expect(try await handle.data().isEmpty == false)
        await session.shutdown()
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
            try await Self.repeats("- ", session, valid, until: 1, of: changes)
            try await Self.copy("second.pem", to: path)
            try await Self.becomesTrusted(session, second)
            #expect(try await session.string(second).hasPrefix("- "))
            // Neither the open connection nor its TLS session is used.
            await expectFailure([.untrusted]) { try await session.string(valid) }
            try await Self.repeats("- ", session, second, until: 2, of: changes)
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
        #expect(try await Self.string(session, url, after: "ada ").hasPrefix("berta "))
        var body = Data()
        for try await chunk in stream.chunks { body += chunk }
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
