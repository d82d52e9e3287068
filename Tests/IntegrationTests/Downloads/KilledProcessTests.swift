import Foundation
import Glibc
import Testing
import Trellis
import TrellisTesting

/// Downloads survive processes that are really killed, and several processes at one place.
@Suite(.timeLimit(.minutes(3)))
struct KilledProcessTests {
    private static let content = noise(16 << 20, seed: 3)
    private let folder: Folder
    private let gate = LoopbackServer.Gate()

    init() throws { folder = try Folder() }

    /// Runs a process that downloads, and is killed when `count` bytes have arrived.
    private func kill(at count: Int64, _ url: String, connections: Int = 1) async {
        let path: String = folder("a.bin")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, url, count, connections] in
            var options = DownloadOptions()
            options.connections = connections
            let download = Session().downloadRequest(url, to: .file(path, .removePreviousFile), options: options)
            for await progress in download.progress where progress.completedBytes >= count { break }
            raise(SIGKILL)
        }
    }

    private func isWhole() -> Bool { folder.data("a.bin") == Self.content && folder.names == ["a.bin"] }

    @Test(arguments: [1, 4]) func anotherProcessGoesOn(_ connections: Int) async throws {
        let server = try FileServer(Self.content) { [gate] number, _ in
            number <= connections ? .stalled((12 << 20) / connections, gate) : .whole
        }
        await kill(at: 12 << 20, server.url, connections: connections)
        #expect(folder.names == [".a.bin.trellis-note", ".a.bin.trellis-part"])
        var options = DownloadOptions()
        options.connections = connections
        let file = try await Session().downloadRequest(server.url, to: .file(folder("a.bin")), options: options).value
        #expect(file.resumedBytes >= (connections == 1 ? 12 << 20 : 4 << 20) && isWhole())
        gate.open()
    }

    /// Many processes, each killed at another place, complete a download.
    @Test func manyProcessesComeToAnEnd() async throws {
        let server = try FileServer(Self.content) { [gate] number, _ in
            number <= 4 ? .stalled(3 << 20, gate) : .whole
        }
        for round in 1...4 { await kill(at: Int64(round) * (3 << 20), server.url) }
        let file = try await Session().downloadRequest(server.url, to: .file(folder("a.bin"))).value
        #expect(file.resumedBytes == 12 << 20 && isWhole())
        gate.open()
    }

    /// A second process at the same place has its own partial file, which is removed by a later download after the process has ended.
    @Test func twoProcessesAtOnePlace() async throws {
        let server = try FileServer(Self.content) { [gate] number, _ in
            number <= 2 ? .stalled(2 << 20, gate) : .whole
        }
        let first = Session().downloadRequest(server.url, to: .file(folder("a.bin"), .removePreviousFile))
        for await progress in first.progress where progress.completedBytes == 2 << 20 { break }
        await kill(at: 2 << 20, server.url)
        let left = [".a.bin.trellis-note", ".a.bin.trellis-part", ".a.bin.trellis-part.2"]
        #expect(folder.names == left)
        _ = await first.cancelProducingResumeData()
        gate.open()
        let file = try await Session().downloadRequest(server.url, to: .file(folder("a.bin"))).value
        #expect(file.resumedBytes == 2 << 20 && isWhole())
    }
}
