import Foundation
import Testing
import Trellis
import TrellisTesting

/// Requests and downloads wait until there is a way to caddy, which is on another machine. Both machines are network namespaces.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requiresNamespaces, .returningThreads, .requires("caddy"))
struct RealLineOfflineTests {
    private let machine: TestMachine
    private let peer: Peer
    private let folder: Folder
    private let isWaiting = LoopbackServer.Gate()

    init() async throws {
        machine = try TestMachine()
        folder = try Folder()
        peer = try await Peer.startedOnce("other_caddy.py", [machine.other, "198.51.100.1"])
    }

    private var url: String { get throws { try peer.url("caddy", host: "198.51.100.1") } }

    private func session() async -> Session {
        await machine.session { configuration in
            configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
            configuration.httpVersion = .http2
            configuration.reachability = machine.reachability
            configuration.steps.intercept(with: machine.offlineRetrier(isWaiting))
        }
    }

    /// Waits until an attempt has found no way to the server and its retrier waits for one, and joins the machine to the network.
    private func join() async throws {
        try await isWaiting.opened()
        try machine.join()
    }

    @Test func aRequestIsSentWhenTheNetworkIsThere() async throws {
        let (session, url) = (await self.session(), try self.url)
        async let answer = session.data(url)
        try await join()
        let (data, response) = try await answer
        #expect(String(decoding: data, as: UTF8.self) == "198.51.100.2 HTTP/2.0")
        #expect(response.metrics.attemptCount > 1)
        await session.shutdown()
    }

    @Test func aDownloadBeginsWhenTheNetworkIsThere() async throws {
        let (session, url) = (await self.session(), try self.url)
        let download = session.downloadRequest(url, to: .file(folder("a.txt")))
        async let value = download.value
        try await join()
        let file = try await value
        #expect(folder.data("a.txt") == Data("198.51.100.2 HTTP/2.0".utf8) && file.interruptions == 0)
        await session.shutdown()
    }
}
