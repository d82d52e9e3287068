import Foundation
import TestSupport
import Testing
import Trellis

/// A large file from a real server arrives over a network that closes and resets connections. The caller needs no code for that.
@Suite(.serialized, .timeLimit(.minutes(5)), .requiresPeers, .requires("caddy"))
struct HostileNetworkTests {
    /// The size of the file in bytes: 1 GiB with `Tests/run.sh --all`, which then also forgets connections.
    private static let size = Scale.isFull ? 1 << 30 : 16 << 20
    private static let faults =
        Scale.isFull ? ["close": 27, "reset": 23, "silence": 4] : ["close": 9, "reset": 7, "silence": 0]

    @Test(arguments: [1, 4])
    func aLargeFileArrives(connections: Int) async throws {
        let counts = ["close", "reset", "silence"].map { "\(Self.faults[$0] ?? 0)" }
        let peer = try await Peer.startedOnce("cutting_proxy.py", ["\(Self.size)"] + counts)
        // The connections of a session on a clock that leaps may be silent.
        let session = Scale.isFull ? Session() : Session(leaping: LeapingClock())
        let (digest, _) = try await session.data(peer.url("direct", "/digest", scheme: "http"))
        let checksum = Checksum.sha256(String(decoding: digest, as: UTF8.self))
        var request = Request(try peer.url("cut", "/large", scheme: "http"))
        // The time after which a silent connection is given up.
        if Scale.isFull { request.timeouts = Timeouts(idle: .milliseconds(500)) }
        var options = DownloadOptions()
        options.connections = connections
        let folder = try Folder()

        let file = try await session.downloadRequest(
            request, to: .file(folder("large")), checksum: checksum, options: options
        ).value

        #expect(file.size == Self.size)
        #expect(folder.names == ["large"])
        let faults = try await peer.answer([String: Int].self, to: "faults")
        #expect(faults == Self.faults.filter { $0.value > 0 })
        await session.shutdown()
    }
}
