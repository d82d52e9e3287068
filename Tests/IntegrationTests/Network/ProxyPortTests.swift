import Foundation
import Testing
import Trellis

/// The URLs of proxies without a port. The proxies are on another machine, where the usual ports are free: a network namespace.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requiresNamespaces, .returningThreads)
struct ProxyPortTests {
    private let machine: TestMachine
    private let peer: Peer

    init() async throws {
        machine = try TestMachine()
        try machine.join()
        peer = try await Peer.startedOnce("other_machine.py", [machine.other, "198.51.100.1", "proxies"])
    }

    @Test(arguments: [("http", 80), ("https", 443), ("socks5h", 1080)])
    func aProxyWithoutAPortIsAtTheUsualOne(_ scheme: String, _ port: Int) async throws {
        let proxy = try Proxy("\(scheme)://198.51.100.1")
        let session = await machine.session { configuration in
            configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
            configuration.proxy = .always(proxy)
        }
        let (data, response) = try await session.data("http://server.invalid/")
        #expect(String(decoding: data, as: UTF8.self) == "198.51.100.2 1")
        #expect(response.metrics.peerAddress == "198.51.100.1:\(port)")
        await session.shutdown()
    }
}
