import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Downloads wait for the network of a machine, which is a network namespace, and so is the server's machine.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requiresNamespaces, .returningThreads)
struct OfflineDownloadTests {
    private struct Nothing: Decodable {}
    private struct Ranges: Decodable { let ranges: [Int] }

    /// The file of the server.
    private static let content = Data((0..<400_000).map { UInt8($0 % 251) })

    private let machine: TestMachine
    private let peer: Peer
    private let folder: Folder
    private let events = ConnectionEvents()

    init() async throws {
        machine = try TestMachine()
        folder = try Folder()
        peer = try await Peer.startedOnce("other_files.py", [machine.other, "198.51.100.1"])
    }

    private var url: String { get throws { try peer.url("http", "/file", scheme: "http", host: "198.51.100.1") } }

    /// The link is down in the middle of a download. Attempts without a network are not counted, and the download is resumed when the
    /// link is up.
    @Test func aDownloadIsResumedWhenTheLinkIsUp() async throws {
        try machine.join()
        let clock = TestClock(), year = Duration.seconds(31_536_000), reachability = machine.reachability
        let session = await machine.session(clock: clock) { configuration in
            configuration.reachability = reachability
            configuration.eventMonitors = [events]
            configuration.timeouts = Timeouts(connect: year, responseHead: year, idle: year)
        }
        var statuses = reachability.statuses.makeAsyncIterator()
        // The limit would be exceeded if attempts without a network were counted.
        let options = DownloadOptions(maximumFailures: 2)
        let download = session.downloadRequest(try url, to: .file(folder("a.bin")), options: options)
        async let value = download.value
        for await progress in download.progress where progress.completedBytes == 200_000 { break }
        try machine.ip("link set cable0 down")
        // Attempts count until the loss of the network is known.
        while let status = await statuses.next(), status != .notReachable {}
        clock.move(by: year)
        // The pause between the first two attempts passes. The next one ends when the network is back.
        try await clock.move(by: .seconds(1), in: session) { [events] in events.failedConnectionCount > 1 }
        _ = try await peer.answer(Nothing.self, to: "answer")
        try machine.ip("link set cable0 up")
        try machine.ip("route add default via 198.51.100.1")
        let file = try await value
        #expect(folder.data("a.bin") == Self.content && file.response.status == .partialContent)
        #expect(try await peer.answer(Ranges.self, to: "ranges").ranges.last == 200_000)
        await session.shutdown()
    }

    /// A download begins without a network. Its first request is sent when the network is there.
    @Test func aDownloadBeginsWhenTheNetworkIsThere() async throws {
        _ = try await peer.answer(Nothing.self, to: "answer")
        let isWaiting = LoopbackServer.Gate()
        let session = await machine.session { configuration in
            configuration.reachability = machine.reachability
            configuration.steps.intercept(with: machine.offlineRetrier(isWaiting))
        }
        let download = session.downloadRequest(try url, to: .file(folder("a.bin")))
        async let value = download.value
        try await isWaiting.opened()
        try machine.join()
        let file = try await value
        #expect(folder.data("a.bin") == Self.content && file.interruptions == 0)
        #expect(try await peer.answer(Ranges.self, to: "ranges").ranges == [0])
        await session.shutdown()
    }
}
