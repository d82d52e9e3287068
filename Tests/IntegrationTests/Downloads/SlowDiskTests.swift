import CurlEngine
import Foundation
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// A slow disk delays the network of its own download, and no other work.
@Suite(.timeLimit(.minutes(3)))
struct SlowDiskTests {
    /// More than the buffers of both kernels and of the session hold.
    private static let content = noise(64 << 20, seed: 4)

    /// A digest that simulates the disk: it is called where the file is written, directly after the write.
    private struct SlowDigest: DigestFunction {
        let disk: Disk

        mutating func update(_ bytes: Data) { disk.write() }
        mutating func finish() -> [UInt8] { [1] }
    }

    /// A disk that blocks its first write until the test releases it.
    private final class Disk: Sendable {
        let isReached = LoopbackServer.Gate()
        private let mayGoOn = DispatchSemaphore(value: 0)
        let wasOnEngineThread = Locked(false)
        let session: Session

        init(_ session: Session) { self.session = session }

        func write() {
            if session.engine.isCurrent { wasOnEngineThread.withLock { $0 = true } }
            guard !isReached.isOpen else { return }
            isReached.open()
            mayGoOn.wait()
        }

        func goOn() { mayGoOn.signal() }
    }

    @Test func aSlowDiskPushesBack() async throws {
        let folder = try Folder(), session = Session()
        let server = try FileServer(Self.content), other = try LoopbackServer.http { _ in .text("here") }
        let disk = Disk(session)
        let checksum = Checksum(name: "slow", [1]) { SlowDigest(disk: disk) }
        // The disk is slow even if the tasks of its caller run on the engine thread.
        let download = session.downloadRequest(server.url, to: .file(folder("a.bin")), checksum: checksum)
        download.resume()
        try await disk.isReached.opened()
        // The connection of the download soon stops, and other requests continue.
        var before = -1
        while server.server.bytesWritten != before {
            before = server.server.bytesWritten
            for _ in 0..<20 { #expect(try await session.data(other.url()).1.status == .ok) }
        }
        #expect(before < Self.content.count / 2)
        disk.goOn()
        #expect(try await download.value.size == 64 << 20)
        #expect(!disk.wasOnEngineThread.withLock { $0 } && folder.data("a.bin") == Self.content)
    }

    /// A task that prefers the session's executor has its files written on other threads.
    @Test(arguments: [1, 4]) func nothingIsWrittenOnTheEngineThread(_ connections: Int) async throws {
        let folder = try Folder(), session = Session()
        let server = try FileServer(Self.content.prefix(8 << 20))
        let disk = Disk(session)
        disk.goOn()
        var options = DownloadOptions()
        options.connections = connections
        let download = session.downloadRequest(
            server.url, to: .file(folder("a.bin")),
            checksum: Checksum(name: "slow", [1]) { SlowDigest(disk: disk) }, options: options)
        let size = try await withTaskExecutorPreference(session.executor) { try await download.value.size }
        #expect(size == 8 << 20 && disk.isReached.isOpen && !disk.wasOnEngineThread.withLock { $0 })
    }
}
