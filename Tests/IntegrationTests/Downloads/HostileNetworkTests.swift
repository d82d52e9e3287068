import Foundation
import Testing
import Trellis

/// A large file from a real server arrives over a network that closes, resets and forgets connections. The caller needs no code for that.
@Suite(.serialized, .timeLimit(.minutes(5)), .requiresPeers, .requires("caddy"))
struct HostileNetworkTests {
    /// The size of the file in bytes: 1 GiB in CI, and less in local runs, with the same faults.
    private static let size = ProcessInfo.processInfo.environment["CI"] == "true" ? 1 << 30 : 64 << 20

    @Test(arguments: [1, 4])
    func aLargeFileArrives(connections: Int) async throws {
        let peer = try await Peer.started("cutting_proxy.py", String(Self.size)).value
        let session = Session()
        let (digest, _) = try await session.data(peer.url("direct", "/digest", scheme: "http"))
        let checksum = Checksum.sha256(String(decoding: digest, as: UTF8.self))
        var request = Request(try peer.url("cut", "/large", scheme: "http"))
        // The time after which a silent connection is given up.
        request.timeouts = Timeouts(idle: .milliseconds(500))
        var options = DownloadOptions()
        options.connections = connections
        let folder = try Folder()

        let file = try await session.downloadRequest(
            request, to: .file(folder("large")), checksum: checksum, options: options
        ).value

        #expect(file.size == Self.size)
        #expect(folder.names == ["large"])
        let faults = try await peer.answer([String: Int].self, to: "faults")
        #expect(faults == ["close": 27, "reset": 23, "silence": 4])
        await session.shutdown()
    }
}
