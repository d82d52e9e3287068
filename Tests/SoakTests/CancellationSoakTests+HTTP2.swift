import Foundation
import Glibc
import Testing
import TrellisTesting

@testable import TrellisCore

/// Requests that are cancelled on shared connections leave nothing behind either.
extension CancellationSoakTests {
    /// A server whose connections carry few streams at once, so that requests wait, and connections are opened and closed.
    private final class StreamServer {
        // Swift Testing waits for children too, and must not see this one end.
        private let process: pid_t
        private let folder = FileManager.default.temporaryDirectory.appending(path: "trellis-soak-\(getpid())")
        let url: String

        static let isInstalled = ["/usr/bin", "/usr/local/bin"].contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/nghttpd")
        }

        init() throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(repeating: 0x78, count: 100).write(to: folder.appending(path: "file"))
            let port = try Self.freePort()
            // Another process may have taken the port meanwhile, but not at the address of this one.
            let address = "127.6.\(getpid() >> 8 & 0x7f).\(getpid() & 0xff)"
            url = "http://\(address):\(port)/file"
            let words = [
                "nghttpd", "--no-tls", "--address=\(address)", "--max-concurrent-streams=3",
                "--htdocs=\(folder.path)", "\(port)",
            ]
            var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
            defer { unsafe arguments.forEach { unsafe free($0) } }
            var pid: pid_t = 0
            let status = unsafe posix_spawnp(&pid, "nghttpd", nil, nil, &arguments, nil)
            try #require(status == 0, "\(status)")
            process = pid
        }

        deinit {
            // The process inherits the signal mask of the thread that starts it, which may block other signals.
            kill(process, SIGKILL)
            _ = waitpid(process, nil, 0)
            try? FileManager.default.removeItem(at: folder)
        }

        /// Returns a port that is free at the moment.
        private static func freePort() throws -> Int {
            let server = try LoopbackServer.http { _ in .text("") }
            defer { server.stop() }
            return Int(server.port)
        }
    }

    @Test(
        .timeLimit(.minutes(20)), .enabled(if: StreamServer.isInstalled || isInCI, "needs nghttpd"),
        arguments: [1, 2, 4])
    func cancelledStreamsLeaveNothingBehind(engines: Int) async throws {
        let server = try StreamServer()
        var configuration = SessionConfiguration()
        configuration.engines = .fixed(engines)
        configuration.httpVersion = .http2PriorKnowledge
        configuration.limits.perOrigin = 2
        let before = Descriptors.count
        var outcomes = Outcomes()
        do {
            let session = Session(configuration: configuration)
            // The server may not listen yet.
            while (try? await session.data(server.url)) == nil, !Task.isCancelled { await Task.yield() }
            outcomes = await Self.run(session, [server.url], requests: Self.streams)
            #expect(try await session.data(server.url).1.version == .http2)
            #expect(await session.liveRequestCount == 0)
            await session.shutdown()
        }
        #expect(outcomes.answered + outcomes.cancelled == Self.streams / Self.tasks * Self.tasks)
        #expect(outcomes.answered > 0 && outcomes.cancelled > 0)
        if Self.isAlone { #expect(Descriptors.count == before, "\(Descriptors.targets)") }
    }

    /// The number of requests. Each costs several times that over HTTP/1.
    private static let streams = max(requests / 10, 40)

    private static var isInCI: Bool { ProcessInfo.processInfo.environment["CI"] == "true" }
}
