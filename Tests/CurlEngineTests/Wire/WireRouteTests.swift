import CCurl
import Foundation
import Glibc
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// The engine itself speaks HTTP/1.1 on the ways to a server that need nothing but a socket.
@Suite(.timeLimit(.minutes(3)))
struct WireRouteTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    /// Returns a server that answers each request with a text, on connections that it keeps.
    private static func server(
        _ text: String = good, on address: LoopbackServer.Address = .ipv4
    ) throws -> LoopbackServer {
        try LoopbackServer(on: address) { connection in
            while try connection.nextRequest() != nil { try connection.write(text) }
        }
    }

    private static func route(_ change: (inout TransferRoute.Parts) throws -> Void) rethrows -> TransferRoute {
        var parts = TransferRoute.Parts()
        try change(&parts)
        return TransferRoute(parts)
    }

    private static func get(_ url: String, _ route: TransferRoute) throws -> TransferOptions {
        TransferOptions(
            url: try WireURL(parsing: url), route: route, method: "GET", version: .http1, mayBeReplayed: true)
    }

    // MARK: The way out of this machine

    /// The socket is bound to the interface, and not only to an address of it.
    @Test func connectionsLeaveByTheirInterface() async throws {
        let server = try Self.server()
        let run = EngineRun()
        let route = Self.route { $0.interface = "lo" }
        let get = try Self.get(server.url("/"), route)
        #expect(await run.perform(get).text == "good")
        let name = await run.onEngine {
            let connection = run.engine.wire.knownPool(get.wirePool).flatMap { run.engine.wire.takeIdle($0) }
            return connection.map { Self.interface(of: $0.socket) }
        }
        #expect(name == "lo")
        await run.finish()
    }

    private static func interface(of descriptor: Int32) -> String {
        var name = [UInt8](repeating: 0, count: Int(IFNAMSIZ)), size = socklen_t(IFNAMSIZ)
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, &name, &size)
        return code == 0 ? String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) : ""
    }

    @Test(arguments: [("trellis-none", "No such device"), ("192.0.2.77", "Cannot assign requested address")])
    func aSourceThatThisMachineLacksIsNamed(_ source: String, _ reason: String) async throws {
        let server = try Self.server()
        let run = EngineRun()
        let route = Self.route { $0.interface = source }
        let failure = await run.perform(try Self.get(server.url("/"), route)).end?.failure
        #expect(failure?.kind == .source && failure?.message == "\(source): \(reason)")
        #expect(server.acceptedCount == 0)
        await run.finish()
    }

    /// The zone of an address is of this machine, and no part of the request (RFC 6874, section 4).
    @Test func anAddressHasItsZone() async throws {
        let server = try Self.server(on: .ipv6)
        let run = EngineRun()
        let outcome = await run.perform(try EngineRun.get("http://[::1%25lo]:\(server.port)/"))
        #expect(outcome.text == "good" && outcome.end?.report.peerAddress == "::1")
        #expect(server.requests[0]["Host"] == "[::1]:\(server.port)")
        let host = "[fe80::1%25trellis-none]"
        let unknown = await run.perform(try EngineRun.get("http://\(host):\(server.port)/")).end?.failure
        #expect(unknown?.kind == .connect && unknown?.message.contains(host) == true)
        await run.finish()
    }

    @Test func aZoneIsAnInterfaceOrItsNumber() throws {
        let lo = unsafe if_nametoindex("lo")
        let scopes = ["[fe80::1%25lo]", "[fe80::1%lo]", "fe80::1%lo", "[fe80::1%7]", "[fe80::1%257]", "[fe80::1%25]"]
            .map { IPAddress(zoned: $0)?.scope }
        #expect(scopes == [lo, lo, lo, 7, 7, 25])
        #expect(IPAddress(zoned: "[fe80::1%25trellis-none]")?.scope == .max)
        #expect(IPAddress(zoned: "[fe80::1]")?.scope == 0 && IPAddress(zoned: "127.0.0.1")?.scope == 0)
        #expect(IPAddress(zoned: "a%25b") == nil)
        var parts = TransferRoute.Parts()
        parts.connectTo = "[fe80::1%lo]:81"
        let url = try WireURL(parsing: "http://far.invalid/")
        #expect(TransferRoute(parts).target(of: url) == ("[fe80::1%lo]", 81))
    }

    // MARK: Unix domain sockets

    @Test(arguments: [false, true])
    func requestsGoToASocket(_ isAbstract: Bool) async throws {
        let name = (isAbstract ? "" : "\(NSTemporaryDirectory())/") + "trellis-wire-\(UUID().uuidString)"
        let server = try Self.server(on: isAbstract ? .abstract(name: name) : .unix(path: name))
        let run = EngineRun()
        let route = Self.route {
            $0.socket = .init(name: name, isAbstract: isAbstract)
            // A socket takes precedence over everything else.
            ($0.proxy, $0.interface) = (Self.proxy("192.0.2.1", 1), "trellis-none")
        }
        for isReused in [false, true] {
            let outcome = await run.perform(try Self.get("http://far.invalid:81/a", route))
            #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == isReused)
            #expect(outcome.end?.report.peerAddress == (isAbstract ? "" : name))
        }
        #expect(server.acceptedCount == 1)
        #expect(server.requests.map(\.target) == ["/a", "/a"] && server.requests[0]["Host"] == "far.invalid:81")
        #expect(await run.onEngine { run.engine.wire.openCount } == 1)
        await run.finish()
        if !isAbstract { try? FileManager.default.removeItem(atPath: name) }
    }

    @Test(arguments: [
        ("/nowhere/socket", false, "/nowhere/socket: No such file or directory"),
        ("trellis-nothing", true, "@trellis-nothing: Connection refused"),
        (String(repeating: "x", count: 108), true, "@\(String(repeating: "x", count: 108)): File name too long"),
    ])
    func aSocketThatIsNotThereIsNamed(_ name: String, _ isAbstract: Bool, _ text: String) async throws {
        let run = EngineRun()
        let route = Self.route { $0.socket = .init(name: name, isAbstract: isAbstract) }
        let failure = await run.perform(try Self.get("http://far.invalid/", route)).end?.failure
        #expect(failure?.kind == .connect && failure?.message == text)
        await run.finish()
    }

    /// The system refuses a connection at once if the server has accepted too few, and tells of no end of that.
    @Test func aFullQueueIsWaitedFor() async throws {
        let server = try FullSocket()
        let run = EngineRun()
        let route = Self.route { $0.socket = .init(name: server.name, isAbstract: true) }
        let get = try Self.get("http://far.invalid/", route)
        async let outcome = run.perform(get)
        while await run.onEngine({ run.engine.wire.waiting.isEmpty }), !Task.isCancelled { await Task.yield() }
        #expect(await run.onEngine { run.engine.hasTransfers && run.engine.openSocketCount == 0 })
        let connections = await BlockingThreadPool.run { (server.accept(), server.accept()) }
        let count = unsafe write(connections.1, Self.good, Self.good.utf8.count)
        #expect(count == Self.good.utf8.count)
        #expect(await outcome.text == "good")
        #expect(await run.onEngine { run.engine.wire.waiting.isEmpty })
        await run.finish()
        close(connections.0)
        close(connections.1)
    }

    /// A transfer that waits for a full queue can be cancelled.
    @Test func aCancelledTransferWaitsForNoQueue() async throws {
        let server = try FullSocket()
        let run = EngineRun()
        let route = Self.route { $0.socket = .init(name: server.name, isAbstract: true) }
        let get = try Self.get("http://far.invalid/", route)
        let transfer = await run.onEngine { run.engine.start(get, delegate: EngineRun.Outcome()) }
        while await run.onEngine({ run.engine.wire.waiting.isEmpty }), !Task.isCancelled { await Task.yield() }
        await run.onEngine { transfer.cancel() }
        while await run.onEngine({ run.engine.isBusy }), !Task.isCancelled { await Task.yield() }
        #expect(await run.onEngine { run.engine.wire.waiting.isEmpty })
        await run.finish()
    }

    // MARK: Proxies

    private static func proxy(
        _ host: String, _ port: Int, scheme: EngineConfiguration.ProxyServer.Scheme = .http, isDigest: Bool? = nil
    ) -> EngineConfiguration.ProxyServer {
        let credentials = isDigest.map {
            EngineConfiguration.ProxyServer.Credentials(username: "Aladdin", password: "open sesame", isDigest: $0)
        }
        return EngineConfiguration.ProxyServer(scheme: scheme, host: host, port: UInt16(port), credentials: credentials)
    }

    /// Connections to a proxy that makes no tunnel carry requests for any origin.
    @Test func requestsToSeveralOriginsShareAConnectionToTheirProxy() async throws {
        let server = try Self.server()
        let run = EngineRun()
        let route = Self.route { $0.proxy = Self.proxy("127.0.0.1", server.port, isDigest: false) }
        let other = Self.route { $0.proxy = Self.proxy("127.0.0.1", server.port, isDigest: false) }
        let first = await run.perform(try Self.get("http://one.invalid/a?b", route))
        let second = await run.perform(try Self.get("http://two.invalid:81/", route))
        #expect(first.text == "good" && first.end?.report.peerPort == Int(server.port))
        #expect(second.end?.report.isReusedConnection == true)
        #expect(await run.onEngine { run.engine.wire.openCount } == 1)
        #expect(await run.perform(try Self.get("http://one.invalid/", other)).text == "good")
        let targets = ["http://one.invalid/a?b", "http://two.invalid:81/", "http://one.invalid/"]
        #expect(server.requests.map(\.target) == targets)
        #expect(server.requests.map { $0["Host"] } == ["one.invalid", "two.invalid:81", "one.invalid"])
        let proof = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == proof })
        #expect(server.acceptedCount == 2)
        await run.finish()
    }

    /// A limit names an origin, and its connection may have served another one last.
    @Test func anIdleConnectionToAProxyIsClosedOnRequest() async throws {
        let server = try Self.server()
        let run = EngineRun()
        let route = Self.route { $0.proxy = Self.proxy("127.0.0.1", server.port) }
        let get = try Self.get("http://one.invalid/", route)
        _ = await run.perform(get)
        _ = await run.perform(try Self.get("http://two.invalid/", route))
        await run.onEngine { run.engine.closeIdleConnections(to: get.limitName) }
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    /// A challenge of the proxy is an answer, after which the proxy may close its connection.
    @Test func aRequestAfterAChallengeGetsAnotherConnection() async throws {
        let refusal = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=r\r\nContent-Length: 2\r\n\r\nno"
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(connection.ordinal == 1 ? refusal : Self.good)
        }
        let run = EngineRun()
        let route = Self.route { $0.proxy = Self.proxy("127.0.0.1", server.port) }
        let get = try Self.get("http://one.invalid/", route)
        let challenge = await run.perform(get)
        #expect(challenge.head?.status == 407 && challenge.text == "no")
        #expect(await run.perform(get).text == "good")
        #expect(server.acceptedCount == 2)
        await run.finish()
    }

    @Test func aProxyThatIsNotThereIsNamed() async throws {
        let run = EngineRun(), port = try ClosedPort().port
        let unreachable = await run.perform(
            try Self.get("http://one.invalid/", Self.route { $0.proxy = Self.proxy("127.0.0.1", port) }))
        #expect(unreachable.end?.failure?.kind == .proxy(name: "127.0.0.1:\(port)", .unreachable))
        let unknown = String(repeating: "a", count: 64) + ".invalid"
        let unresolved = await run.perform(
            try Self.get("http://one.invalid/", Self.route { $0.proxy = Self.proxy(unknown, 3128) }))
        #expect(unresolved.end?.failure?.kind == .proxy(name: "\(unknown):3128", .nameResolution))
        await run.finish()
    }

    /// The addresses of a proxy may come from elsewhere.
    @Test func aProxyHasItsFixedAddress() async throws {
        let server = try Self.server()
        let run = EngineRun()
        let route = Self.route {
            $0.proxy = Self.proxy("proxy.invalid", server.port)
            ($0.addresses, $0.proxyAddresses) = (.fixed(["192.0.2.1"]), .fixed(["127.0.0.1"]))
        }
        #expect(await run.perform(try Self.get("http://one.invalid/", route)).text == "good")
        await run.finish()
    }
}

/// A socket in the abstract namespace whose queue of connections is full.
private final class FullSocket: Sendable {
    let name: String
    private let listener: Int32
    private let first: Int32

    init() throws {
        let name = "trellis-full-\(UUID().uuidString)"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: [0] + name.utf8) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
        let isListening = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, size) == 0 && listen(listener, 0) == 0
            }
        }
        // The queue has room for one connection.
        first = unsafe ccurl_unix_connect(name, true)
        (self.name, self.listener) = (name, listener)
        try #require(isListening && first >= 0)
    }

    deinit {
        close(first)
        close(listener)
    }

    func accept() -> Int32 { Glibc.accept(listener, nil, nil) }
}
