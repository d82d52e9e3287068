import Foundation
import Testing
import TrellisTesting

@testable import CurlEngine

/// HTTP/1.1 through proxies whose connections need handshakes, which libcurl makes on the engine's sockets.
@Suite(.timeLimit(.minutes(3)))
struct WireProxyTests {
    typealias Server = EngineConfiguration.ProxyServer
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    private static func route(
        _ scheme: Server.Scheme, _ server: LoopbackServer, isDigest: Bool? = nil,
        _ change: (inout TransferRoute.Parts) -> Void = { _ in }
    ) -> TransferRoute {
        let credentials = isDigest.map {
            Server.Credentials(username: "Aladdin", password: "open sesame", isDigest: $0)
        }
        var parts = TransferRoute.Parts()
        parts.proxy = Server(scheme: scheme, host: "127.0.0.1", port: UInt16(server.port), credentials: credentials)
        change(&parts)
        return TransferRoute(parts)
    }

    private static func get(
        _ url: String, _ route: TransferRoute, _ trust: TransferTrust = .system
    ) throws -> TransferOptions {
        TransferOptions(
            url: try WireURL(parsing: url), route: route, trust: trust, method: "GET", version: .http1,
            mayBeReplayed: true)
    }

    /// Reads the request of a SOCKS client, and accepts it. Returns the host and the port that it wants.
    private static func accept(_ connection: LoopbackServer.Connection) throws -> String {
        let version = try connection.read(exactly: 1)[0]
        if version == 5 {
            _ = try connection.read(exactly: Int(try connection.read(exactly: 1)[0]))
            try connection.write([5, 0])
            let type = try connection.read(exactly: 4)[3]
            let size = try type == 3 ? Int(connection.read(exactly: 1)[0]) : type == 4 ? 16 : 4
            let host = try connection.read(exactly: size), port = try connection.read(exactly: 2)
            try connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            let name = type == 3 ? String(decoding: host, as: UTF8.self) : IPAddress(bytes: host)?.bracketed ?? ""
            return "\(name):\(Int(port[0]) << 8 | Int(port[1]))"
        }
        // The name of the user, which is empty, ends in a zero byte.
        let request = try connection.read(exactly: 8)
        try connection.write([0, 90, 0, 0, 0, 0, 0, 0])
        return "\(IPAddress(bytes: Array(request[3...6]))?.bracketed ?? ""):\(Int(request[1]) << 8 | Int(request[2]))"
    }

    /// Starts a SOCKS proxy that answers in place of each server with the host and the port that it was asked for.
    private static func socks(on address: LoopbackServer.Address = .ipv4) throws -> LoopbackServer {
        try LoopbackServer(on: address) { connection in
            let target = try accept(connection)
            while try connection.nextRequest() != nil {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(target.utf8.count)\r\n\r\n\(target)")
            }
        }
    }

    /// Starts an HTTP proxy that makes each tunnel, and then follows a script.
    private static func tunnel(_ script: @escaping LoopbackServer.Script) throws -> LoopbackServer {
        try LoopbackServer { connection in
            guard try connection.readHead() != nil else { return }
            try connection.write("HTTP/1.1 200 Connected\r\n\r\n")
            try script(connection)
        }
    }

    private static func answer(_ connection: LoopbackServer.Connection) throws {
        while try connection.nextRequest() != nil { try connection.write(good) }
    }

    // MARK: Routes

    @Test func proxiesWithAHandshakeAreForTheWire() throws {
        let server = try LoopbackServer { _ in }
        let routes = [
            Self.route(.https, server), Self.route(.socks5h, server), Self.route(.socks4, server),
            Self.route(.http, server, isDigest: true), Self.route(.http, server) { $0.connectTo = "b:1" },
        ]
        for route in routes {
            for url in ["http://a/", "https://a/"] {
                let get = try Self.get(url, route)
                #expect(get.needsHandshake && get.isForWire)
            }
        }
        let plain = Self.route(.http, server)
        #expect(try !Self.get("http://a/", plain).needsHandshake && Self.get("https://a/", plain).needsHandshake)
        #expect(try SwitchRun.options("http://a/", route: plain).needsHandshake)
    }

    // MARK: SOCKS

    /// The socket is all that is left of the handshake.
    @Test(arguments: [Server.Scheme.socks5h, .socks5])
    func requestsThroughSOCKSShareAConnectionPerOrigin(_ scheme: Server.Scheme) async throws {
        let server = try Self.socks()
        let run = EngineRun()
        let route = Self.route(scheme, server) { $0.addresses = scheme == .socks5 ? .fixed(["192.0.2.1"]) : .lookedUp }
        let get = try Self.get("http://one.invalid:81/", route)
        let target = scheme == .socks5 ? "192.0.2.1" : "one.invalid"
        for isReused in [false, true] {
            let outcome = await run.perform(get)
            #expect(outcome.text == "\(target):81" && outcome.end?.report.isReusedConnection == isReused)
            #expect(outcome.end?.report.peerPort == server.port && outcome.end?.report.tls == 0)
        }
        #expect(await run.perform(try Self.get("http://one.invalid:82/", route)).text == "\(target):82")
        let other = Self.route(scheme, server) { $0.addresses = route.parts.addresses }
        #expect(await run.perform(try Self.get("http://one.invalid:81/", other)).text == "\(target):81")
        #expect(server.acceptedCount == 3)
        let hasTLS = await run.onEngine {
            run.engine.wire.knownPool(get.wirePool).flatMap { run.engine.wire.takeIdle($0) }.map { $0.link.tls != nil }
        }
        #expect(hasTLS == false)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    /// SOCKS 4 has only addresses of IPv4.
    @Test(arguments: [
        (Server.Scheme.socks4, TransferRoute.Family.any, "192.0.2.1:80"), (.socks5, .any, "[2001:db8::1]:80"),
        (.socks5, .ipv4, "192.0.2.1:80"),
    ])
    func aProxyGetsTheFirstAddressThatSuits(
        _ scheme: Server.Scheme, _ family: TransferRoute.Family, _ target: String
    ) async throws {
        let server = try Self.socks()
        let run = EngineRun()
        let route = Self.route(scheme, server) {
            ($0.addresses, $0.family) = (.fixed(["2001:db8::1", "192.0.2.1"]), family)
        }
        #expect(await run.perform(try Self.get("http://far.invalid/", route)).text == target)
        await run.finish()
    }

    @Test func aNameWithoutAnAddressThatSuitsIsAFailure() async throws {
        let server = try Self.socks()
        let run = EngineRun()
        let route = Self.route(.socks4, server) { $0.addresses = .fixed(["2001:db8::1"]) }
        let failure = await run.perform(try Self.get("http://far.invalid/", route)).end?.failure
        #expect(failure?.kind == .nameResolution && failure?.message.contains("far.invalid") == true)
        #expect(server.acceptedCount == 0)
        await run.finish()
    }

    @Test func aProxyMayListenAtAUnixSocket() async throws {
        let path = "\(NSTemporaryDirectory())/trellis-socks-\(UUID().uuidString)"
        let server = try Self.socks(on: .unix(path: path))
        let run = EngineRun()
        var parts = TransferRoute.Parts()
        parts.proxy = Server(scheme: .socks5h, host: "localhost", port: 1080, socketPath: path, credentials: nil)
        let outcome = await run.perform(try Self.get("http://far.invalid/", TransferRoute(parts)))
        #expect(outcome.text == "far.invalid:80")
        #expect(outcome.end?.report.peerAddress == path && outcome.end?.report.peerPort == 0)
        await run.finish()
        withExtendedLifetime(server) {}
        try? FileManager.default.removeItem(atPath: path)
    }

    // MARK: Tunnels

    @Test func protocolsAreSwitchedInsideOfATunnel() async throws {
        let server = try Self.tunnel { connection in
            _ = try connection.readHead()
            try connection.write(LoopbackServer.switching + "first")
            while case let bytes = try connection.read(), !bytes.isEmpty { try connection.write(bytes) }
        }
        let switching = SwitchRun(run: EngineRun())
        let connection = try await switching.connect("http://far.invalid/", route: Self.route(.http, server))
        #expect(connection.state.withLock { $0.plainSocket } >= 0)
        #expect(try await connection.read(5) == Array("first".utf8))
        try await connection.write(Data("more".utf8))
        #expect(try await connection.read(4) == Array("more".utf8))
        #expect(server.requests.map(\.method) == ["CONNECT", "GET"] && server.requests[1].target == "/")
        connection.close()
        try await switching.end.opened()
        await switching.run.finish()
        try await server.waitUntilAllClosed()
    }

    /// The bytes after the head of the response to CONNECT are not lost, whoever has sent them.
    @Test func bytesThatComeWithTheTunnelAreReceived() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 200 Connected\r\nX-A: b\r\n\r\n" + Self.good)
            connection.waitUntilPeerCloses()
        }
        let run = EngineRun()
        let route = Self.route(.http, server) { $0.connectTo = "near.invalid:8080" }
        let outcome = await run.perform(try Self.get("http://far.invalid/", route))
        #expect(outcome.text == "good" && server.requests.first?.target == "near.invalid:8080")
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    /// The second connection of a handshake leaves from the same address as the first one.
    @Test func aProxyMayCloseAfterItsChallenge() async throws {
        let server = try LoopbackServer { connection in
            let head = try connection.readHead()
            guard head?["Proxy-Authorization"]?.contains("Digest username=\"Aladdin\"") == true else {
                let challenge = "Digest realm=\"r\", nonce=\"n1\", qop=\"auth\", algorithm=MD5"
                return try connection.write(
                    "HTTP/1.1 407 Who\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n"
                        + "Connection: close\r\n\r\n")
            }
            try connection.write("HTTP/1.1 200 Connected\r\n\r\n")
            #expect(connection.peerAddress.hasPrefix("127.0.0.3"))
            try Self.answer(connection)
        }
        let run = EngineRun()
        let route = Self.route(.http, server, isDigest: true) { $0.interface = "127.0.0.3" }
        for isReused in [false, true] {
            let outcome = await run.perform(try Self.get("http://far.invalid/", route))
            #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == isReused)
        }
        #expect(await run.onEngine { (run.engine.wire.openCount, run.engine.openSocketCount) == (1, 1) })
        #expect(server.acceptedCount == 2)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    /// A proxy that always has a new nonce is asked only some times.
    @Test func aProxyThatIsNeverContentIsLeft() async throws {
        let server = try LoopbackServer { connection in
            var count = 0
            while try connection.readHead() != nil {
                count += 1
                let challenge = "Digest realm=\"r\", nonce=\"n\(count)\", stale=true, algorithm=MD5"
                try connection.write(
                    "HTTP/1.1 407 Who\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let run = EngineRun()
        let outcome = await run.perform(
            try Self.get("http://far.invalid/", Self.route(.http, server, isDigest: true)))
        let refused = EngineFailure.ProxyCause.refused(status: 407, hasCredentials: true)
        #expect(outcome.end?.failure?.kind == .proxy(name: "127.0.0.1:\(server.port)", refused))
        #expect(server.requests.count <= 6)
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    @Test(arguments: [("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 403), ("SSH-2.0-x\r\n", 0), ("", 0)])
    func aRefusedTunnelLeavesNothing(_ text: String, _ status: Int) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.write(text)
        }
        let run = EngineRun()
        let outcome = await run.perform(try Self.get("https://far.invalid/", Self.route(.http, server)))
        let cause = status == 0 ? .noTunnel : EngineFailure.ProxyCause.refused(status: status, hasCredentials: false)
        #expect(outcome.end?.failure?.kind == .proxy(name: "127.0.0.1:\(server.port)", cause))
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func aTransferIsCancelledDuringTheHandshake() async throws {
        let hasAsked = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            hasAsked.open()
            connection.waitUntilPeerCloses()
        }
        let run = EngineRun()
        let get = try Self.get("https://far.invalid/", Self.route(.http, server))
        let transfer = await run.onEngine { run.engine.start(get, delegate: EngineRun.Outcome()) }
        try await hasAsked.opened()
        await run.onEngine { transfer.cancel() }
        try await server.waitUntilAllClosed()
        while await run.onEngine({ run.engine.isBusy }), !Task.isCancelled { await Task.yield() }
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    // MARK: TLS

    /// A server with TLS and a script, and the rules that trust it as a server and as a proxy.
    private static func secure(
        on address: LoopbackServer.Address = .ipv4, _ script: @escaping LoopbackServer.Script
    ) throws -> (LoopbackServer, TransferTrust) {
        let tls = try LoopbackServer.TLS()
        var rules = TransferTrust.Rules()
        rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false)
        let trust = TransferTrust(server: rules, proxy: rules, number: 1)
        return (try LoopbackServer(on: address, tls: tls, script: script), trust)
    }

    @Test(arguments: [false, true])
    func aServerWithTLSMayListenAtAUnixSocket(_ isAbstract: Bool) async throws {
        let name = (isAbstract ? "" : "\(NSTemporaryDirectory())/") + "trellis-tls-\(UUID().uuidString)"
        let (server, trust) = try Self.secure(
            on: isAbstract ? .abstract(name: name) : .unix(path: name), Self.answer)
        let run = EngineRun()
        var parts = TransferRoute.Parts()
        parts.socket = .init(name: name, isAbstract: isAbstract)
        let get = try Self.get("https://127.0.0.1/", TransferRoute(parts), trust)
        for isReused in [false, true] {
            let outcome = await run.perform(get)
            #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == isReused)
            #expect(outcome.end?.report.peerAddress == (isAbstract ? "" : name))
        }
        #expect(server.acceptedCount == 1)
        await run.finish()
        try await server.waitUntilAllClosed()
        if !isAbstract { try? FileManager.default.removeItem(atPath: name) }
    }

    @Test func aUnixSocketThatIsNotThereIsNamed() async throws {
        let run = EngineRun()
        var parts = TransferRoute.Parts()
        parts.socket = .init(name: "/nowhere/socket", isAbstract: false)
        let failure = await run.perform(try Self.get("https://127.0.0.1/", TransferRoute(parts))).end?.failure
        #expect(failure?.kind == .connect && failure?.message == "/nowhere/socket: No such file or directory")
        await run.finish()
    }

    @Test func requestsToSeveralOriginsShareAConnectionToAnHTTPSProxy() async throws {
        let (server, trust) = try Self.secure(Self.answer)
        let run = EngineRun()
        let route = Self.route(.https, server, isDigest: false)
        let first = await run.perform(try Self.get("http://one.invalid/a", route, trust))
        #expect(first.text == "good" && first.end?.report.tls ?? 0 > 0)
        // The handshake was with the proxy, and there is none with the server.
        #expect(first.end?.report.tlsResult == nil)
        let second = await run.perform(try Self.get("http://two.invalid:81/", route, trust))
        #expect(second.text == "good" && second.end?.report.isReusedConnection == true)
        let requests = server.requests
        #expect(requests.map(\.target) == ["http://one.invalid/a", "http://two.invalid:81/"])
        #expect(requests.allSatisfy { $0["Proxy-Authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" })
        #expect(server.acceptedCount == 1)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func nothingIsSentToAnHTTPSProxyThatIsNotTrusted() async throws {
        let (server, _) = try Self.secure(Self.answer)
        let run = EngineRun()
        let outcome = await run.perform(try Self.get("http://one.invalid/", Self.route(.https, server)))
        guard case .untrusted? = outcome.end?.failure?.kind else {
            Issue.record("\(String(describing: outcome.end?.failure))")
            return
        }
        #expect(server.requests.isEmpty)
        await run.finish()
        try await server.waitUntilAllClosed()
    }

    @Test func largeBodiesPassAnHTTPSProxyInBothDirections() async throws {
        let size = 3_000_000
        let (server, trust) = try Self.secure { connection in
            while let request = try connection.nextRequest() {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n")
                try connection.write(request.body)
            }
        }
        let run = EngineRun(), route = Self.route(.https, server)
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) })
        for _ in 1...2 {
            let options = TransferOptions(
                url: try WireURL(parsing: "http://one.invalid/"), route: route, trust: trust, method: "PUT",
                body: .stream(length: Int64(size)), version: .http1)
            let outcome = await run.perform(options, sending: body)
            #expect(outcome.end?.failure == nil && outcome.body == [UInt8](body))
        }
        #expect(server.acceptedCount == 1)
        await run.finish()
    }

    /// Nothing but the alert of TLS tells that a body without a length is complete.
    @Test(arguments: [true, false])
    func anEndWithoutAnAlertCutsABody(_ isAnnounced: Bool) async throws {
        let (server, trust) = try Self.secure { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\n\r\ngood")
            connection.shutdownWrite(notifying: isAnnounced)
        }
        let run = EngineRun()
        let outcome = await run.perform(try Self.get("http://one.invalid/", Self.route(.https, server), trust))
        #expect(outcome.text == "good" && outcome.end?.failure?.kind == (isAnnounced ? nil : .bodyCutShort))
        await run.finish()
    }

    @Test func anIdleConnectionThatAnHTTPSProxyEndsIsClosed() async throws {
        let (server, trust) = try Self.secure { connection in
            _ = try connection.nextRequest()
            try connection.write(Self.good)
        }
        let run = EngineRun()
        let get = try Self.get("http://one.invalid/", Self.route(.https, server), trust)
        #expect(await run.perform(get).text == "good")
        while await run.onEngine({ run.engine.openSocketCount }) > 0, !Task.isCancelled { await Task.yield() }
        #expect(await run.perform(get).text == "good")
        await run.finish()
    }
}
