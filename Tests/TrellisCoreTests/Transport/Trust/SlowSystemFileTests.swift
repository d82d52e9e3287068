import CurlEngine
import Foundation
import Glibc
import TestSupport
import Testing

@testable import TrellisCore

/// The system's file of authorities on a disk that does not answer.
@Suite(.timeLimit(.minutes(3)))
struct SlowSystemFileTests {
    /// The writing end of a pipe, which is opened as soon as the pipe has a reader.
    private final class PipeWriter: Sendable {
        private let path: String
        private let descriptor = Locked<Int32>(-1)

        init(_ path: String) { self.path = path }

        /// Waits until the pipe has a reader.
        func opened() async throws {
            while descriptor.withLock({ $0 }) < 0 {
                try Task.checkCancellation()
                descriptor.withLock { $0 = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) }
                await Task.yield()
            }
        }

        deinit {
            let descriptor = descriptor.withLock { $0 }
            if descriptor >= 0 { _ = close(descriptor) }
        }
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The limit on the first read ends the wait for the look at the system's file, also if the configuration has no file of its own.
    @Test func theLimitEndsTheWaitForTheSystemsFile() async throws {
        let path = folder.path("ca.pem")
        try Data(TestCertificates.rootPEM.utf8).write(to: URL(filePath: path))
        let system = SystemAuthorities(path: path)
        try FileManager.default.removeItem(atPath: path)
        let isMade = unsafe mkfifo(path, 0o600) == 0
        try #require(isMade)
        let tls = TLSConfiguration(authorities: .systemAnd([.pem(TestCertificates.rootPEM)]))
        let table = TrustTable(tls, forHosts: [:], system: system)
        let writer = PipeWriter(path)
        let error = await #expect(throws: TrellisError.self) {
            try await table.load(host: "a.example", proxyHost: nil, now: EngineInstant(nanoseconds: 1)) {
                TrustFileLimit(wait: { try await writer.opened() }, elapsed: { .zero })
            }
        }
        #expect(error?.kind == .connectTimeout && error?.detail == "the file \(path) has not been read")
    }
}
