import CurlEngine
import Foundation
import Testing
import Trellis

/// Files of certificates change under a running session with nginx.
///
/// A request waits for the read of a change for a second, and is sent with the earlier contents after that. Therefore, requests are sent
/// until the change shows.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealTrustReloadTests {
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

    static let versions: [HTTPVersionPolicy] = [.http1Only, .automatic]

    private let server: RealTLSServer
    private let changes = Changes()

    init() async throws { server = try await RealTLSServer.started.value }

    /// Sends requests, which have the same response, until a number of changes was told.
    private func repeats(
        _ text: String, _ session: Session, _ request: Request, until count: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        while changes.all.count < count {
            let answer = try await session.string(request)
            try #require(answer == text, sourceLocation: sourceLocation)
            try Task.checkCancellation()
        }
    }

    /// nginx tells the subject of the client's certificate, and the number of the connection.
    @Test(arguments: versions)
    func aNewIdentityIsShownOnNewConnections(_ version: HTTPVersionPolicy) async throws {
        let files = try server.clientFiles(in: temporaryFolder("real-identity-\(version)"))
        let session = try server.reloadingSession([changes]) { $0.clientIdentity = files.identity }
        let request = RealTLSServer.request("mutual", version)
        let first = try await session.string(request)
        #expect(first.hasPrefix("CN=ada "))
        #expect(try await session.string(request) == first)
        // The key is not that of the certificate yet: the old identity stays, and its connection.
        try server.copy("berta.chain", to: files.certificate)
        for _ in 1...2 { #expect(try await session.string(request) == first) }
        try await repeats(first, session, request, until: 1)
        try server.copy("berta.key", to: files.key)
        let second = try await server.string(session, request, after: first)
        #expect(second.hasPrefix("CN=berta "))
        #expect(try await session.string(request) == second)
        try await repeats(second, session, request, until: 2)
        // The first pair again is a new identity, with a connection of its own.
        try server.copy("ada.key", to: files.key)
        try server.copy("ada.chain", to: files.certificate)
        let third = try await server.string(session, request, after: second)
        #expect(third.hasPrefix("CN=ada ") && third != first)
        try await repeats(third, session, request, until: 3)
        await session.shutdown()
        #expect(changes.all == [.tls, nil, nil])
    }

    @Test(arguments: versions)
    func newAuthoritiesAreUsedForNewRequests(_ version: HTTPVersionPolicy) async throws {
        let path = try temporaryFolder("real-authorities-\(version)") + "/ca.pem"
        try server.copy("root.pem", to: path)
        let session = try server.reloadingSession([changes]) { $0.authorities = .only([.file(path)]) }
        let (good, other) = (RealTLSServer.request("good", version), RealTLSServer.request("other", version))
        #expect(try await session.string(good).hasPrefix("TLSv1.3 "))
        let before = await expectFailure([.untrusted]) { try await session.data(other) }
        #expect(before?.untrusted?.subject == "CN=other" && before?.isRetryable == false)
        // A file without certificates changes nothing.
        try Data("nothing".utf8).write(to: URL(filePath: path), options: .atomic)
        var count = 2
        while count == 2 || changes.all.isEmpty {
            let text = try await session.string(good)
            try #require(text == "TLSv1.3 . \(count)")
            count += 1
            try Task.checkCancellation()
        }
        try server.copy("second.pem", to: path)
        try await server.becomesTrusted(session, other)
        // Neither the open connection nor its TLS session is used.
        let after = await expectFailure([.untrusted]) { try await session.data(good) }
        #expect(after?.untrusted != nil && after?.mayHaveSentBytes == false)
        while changes.all.count < 2 {
            #expect(try await session.string(other).hasPrefix("TLSv1.3 "))
            try Task.checkCancellation()
        }
        await session.shutdown()
        #expect(changes.all == [.file, nil])
    }
}
