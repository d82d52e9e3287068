import CurlEngine
import Foundation
import Glibc
import Testing
import Trellis
import TrellisTesting

/// Files of certificates and keys whose contents do not come: named pipes without a writer.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct SlowTrustFileTests {
    /// Creates a named pipe, and returns its path.
    private static func pipe(_ name: String) throws -> String {
        let path = try temporaryFolder("pipe-\(name)") + "/ca.pem"
        try? FileManager.default.removeItem(atPath: path)
        let isMade = unsafe mkfifo(path, 0o600) == 0
        try #require(isMade)
        return path
    }

    /// Writes the peer's authority to a pipe, as soon as the pipe is being read.
    private static func write(to path: String) async throws { try await write(to: try await opened(path)) }

    /// Opens a pipe for writing, as soon as the pipe is being read, and a gate then.
    private static func opened(_ path: String, _ isRead: LoopbackServer.Gate? = nil) async throws -> FileHandle {
        defer { isRead?.open() }
        return try #require(await BlockingThreadPool.run { FileHandle(forWritingAtPath: path) })
    }

    /// Writes the peer's authority to a pipe that is being read.
    private static func write(to pipe: FileHandle) async throws {
        let data = try Data(contentsOf: URL(filePath: try await TrustPeer.file("ca.pem")))
        try await BlockingThreadPool.trying { try pipe.write(contentsOf: data) }
        try pipe.close()
    }

    /// The limit on connecting.
    private static let limit = Duration.seconds(10)

    private let clock = TestClock()

    private static func request(_ port: String) async throws -> Request {
        let url = try await TrustPeer.started.value.url(port)
        return Request(url).withTimeouts(Timeouts(connect: limit))
    }

    /// Expects that a call ends with the limit on connecting, once a stage is reached.
    private func expectTimeout(
        of session: Session, once stage: LoopbackServer.Gate, _ call: @escaping @Sendable () async throws -> Void
    ) async throws -> TrellisError? {
        try await IntegrationTests.expectTimeout(
            [.connectTimeout], after: Self.limit, on: clock, in: session, once: stage, of: call)
    }

    /// Also a stream, which has no total, ends with the limit on connecting, on each try. The read continues meanwhile.
    @Test func theLimitOnConnectingEndsTheWaitForAFile() async throws {
        let path = try Self.pipe("limit")
        let session = TrustPeer.session(TLSConfiguration(authorities: .only([.file(path)])), clock: clock)
        let request = try await Self.request("valid")
        let isRead = LoopbackServer.Gate()
        async let pipe = Self.opened(path, isRead)
        for _ in 1...2 {
            // The first try begins the read, which the second one finds under way.
            let error = try await expectTimeout(of: session, once: isRead) { _ = try await session.stream(request) }
            #expect(error?.detail == "the file \(path) has not been read" && error?.phase == .connecting)
            #expect(error?.description.contains(path) == true && error?.url == request.url)
            #expect(error.map { $0.elapsed >= Self.limit } == true)
            #expect(error?.mayHaveSentBytes == false && error?.isRetryable == true)
        }
        try await Self.write(to: try await pipe)
        #expect(try await session.string(try await TrustPeer.started.value.url("valid")).hasPrefix("- "))
        await session.shutdown()
    }

    /// A proxy is not passed by because a file has no contents.
    @Test func aSlowFileIsNoFailureOfTheProxy() async throws {
        let path = try Self.pipe("proxy")
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(authorities: .only([.file(path)]))
        let proxy = try Proxy("http://127.0.0.1:9")
        configuration.proxy = .selecting { _ in [proxy, .direct] }
        let session = Session(configuration: configuration, clock: clock)
        let request = try await Self.request("valid")
        let isRead = LoopbackServer.Gate()
        async let pipe = Self.opened(path, isRead)
        let error = try await expectTimeout(of: session, once: isRead) { _ = try await session.data(request) }
        #expect(error?.detail == "the file \(path) has not been read")
        await session.shutdown()
        try await Self.write(to: try await pipe)
    }

    /// A pipe has its contents once, so it is not compared with what was read.
    @Test func aPipeIsReadOnce() async throws {
        let path = try Self.pipe("once")
        var tls = TLSConfiguration(authorities: .only([.file(path)]))
        tls.fileCheckInterval = .zero
        let session = TrustPeer.session(tls)
        let url = try await TrustPeer.started.value.url("valid")
        async let first = session.string(url)
        try await Self.write(to: path)
        let text = try await first
        #expect(text.hasPrefix("- "))
        #expect(try await session.string(url).hasPrefix("- "))
        // A pipe that no thread reads cannot be opened for writing without waiting.
        let descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        let code = errno
        #expect(descriptor == -1 && code == ENXIO)
        if descriptor >= 0 { close(descriptor) }
        await session.shutdown()
    }

    /// The limit on connecting is not that of a passphrase, which a person may have to type. Here it takes as long as several limits.
    @Test func aPassphraseMayTakeLonger() async throws {
        let session = Locked<Session?>(nil), clock = clock
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(
            certificate: .file(try await TrustPeer.file("client.pem")),
            key: .file(try await TrustPeer.file("encrypted.key"))
        ) {
            for _ in 1...5 {
                await session.withLock { $0 }?.settle()
                clock.move(by: Self.limit)
            }
            return TrustPeer.passphrase
        }
        let asking = TrustPeer.session(tls, clock: clock)
        session.withLock { $0 = asking }
        #expect(try await asking.string(try await Self.request("mtls")).hasPrefix("ada "))
        #expect(clock.now.elapsed == Self.limit * 5)
        session.withLock { $0 = nil }
        await asking.shutdown()
    }
}
