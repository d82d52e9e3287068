import CurlEngine
import Foundation
import Glibc
import Testing
import Trellis

/// Files of certificates and keys whose contents do not come: named pipes without a writer.
@Suite(.timeLimit(.minutes(1)), .requiresPeers)
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
    private static func write(to path: String) async throws {
        let data = try Data(contentsOf: URL(filePath: try await TrustPeer.file("ca.pem")))
        let isWritten = await BlockingThreadPool.run { () -> Bool in
            guard let handle = FileHandle(forWritingAtPath: path) else { return false }
            defer { try? handle.close() }
            return (try? handle.write(contentsOf: data)) != nil
        }
        #expect(isWritten)
    }

    private static func request(_ port: String, connect: Duration) async throws -> Request {
        var request = Request(try await TrustPeer.started.value.url(port))
        request.timeouts = Timeouts(connect: connect)
        return request
    }

    /// Also a stream, which has no total, ends with the limit on connecting, on each try. The read continues meanwhile.
    @Test func theLimitOnConnectingEndsTheWaitForAFile() async throws {
        let path = try Self.pipe("limit")
        let session = TrustPeer.session(TLSConfiguration(authorities: .only([.file(path)])))
        let request = try await Self.request("valid", connect: .milliseconds(200))
        for _ in 1...2 {
            let error = await expectFailure([.connectTimeout]) { _ = try await session.stream(request) }
            #expect(error?.detail == "the file \(path) has not been read" && error?.phase == .connecting)
            #expect(error?.description.contains(path) == true && error?.url == request.url)
            #expect(error.map { $0.elapsed >= .milliseconds(200) } == true)
            #expect(error?.mayHaveSentBytes == false && error?.isRetryable == true)
        }
        try await Self.write(to: path)
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
        let session = Session(configuration: configuration)
        let request = try await Self.request("valid", connect: .milliseconds(200))
        let error = await expectFailure([.connectTimeout]) { try await session.data(request) }
        #expect(error?.detail == "the file \(path) has not been read")
        await session.shutdown()
        try await Self.write(to: path)
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

    /// The limit on connecting is not that of a passphrase, which a person may have to type. Here it takes as long as the limit of a later
    /// request.
    @Test func aPassphraseMayTakeLonger() async throws {
        let later = TrustPeer.session(TLSConfiguration(authorities: .only([.file(try Self.pipe("later"))])))
        let laterRequest = try await Self.request("valid", connect: .milliseconds(400))
        let isOver = Locked(false)
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(
            certificate: .file(try await TrustPeer.file("client.pem")),
            key: .file(try await TrustPeer.file("encrypted.key"))
        ) {
            do { _ = try await later.stream(laterRequest) } catch { isOver.withLock { $0 = true } }
            return TrustPeer.passphrase
        }
        let session = TrustPeer.session(tls)
        let request = try await Self.request("mtls", connect: .milliseconds(300))
        #expect(try await session.string(request).hasPrefix("ada "))
        #expect(isOver.withLock { $0 })
        await session.shutdown()
        await later.shutdown()
    }
}
