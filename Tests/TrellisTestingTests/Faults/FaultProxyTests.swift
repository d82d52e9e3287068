import FoundationEssentials
import TestSupport
import Testing
import Trellis

@testable import TrellisTesting

/// A proxy passes the bytes of connections in both directions, and its toxics disturb them.
@Suite(.timeLimit(.minutes(3)))
struct FaultProxyTests {
    /// A server that echoes bodies, a proxy in front of it, and a session.
    private struct Setting {
        let server: LoopbackServer
        let proxy: FaultProxy
        let clock = TestClock()
        let session: Session

        init(_ toxics: [Toxic] = [], seed: UInt64 = 0) throws {
            server = try LoopbackServer.http { request in
                if request.path == "/close" {
                    return .init(
                        body: .raw { connection in try connection.write("HTTP/1.1 200 OK\r\n\r\nuntil the end") })
                }
                return request.body.isEmpty ? .text("hello world") : .init(200, body: request.body)
            }
            proxy = try FaultProxy(to: server, toxics: toxics, seed: seed, clock: clock)
            var configuration = SessionConfiguration()
            configuration.httpVersion = .http1Only
            session = Session(configuration: configuration)
        }

        /// Waits until the server has sent a response, and the proxy has received all of it.
        func waitUntilReceived() async throws {
            try await server.waitUntilRequested(count: 1)
            while server.bytesWritten == 0 || proxy.connections[0].receivedDownstream < server.bytesWritten,
                !Task.isCancelled
            {
                await Task.yield()
            }
        }

        func end() async throws {
            await session.shutdown()
            try await proxy.waitUntilClosed(count: proxy.connections.count)
            try await server.waitUntilAllClosed()
        }
    }

    @Test func bytesPassUnchangedInBothDirections() async throws {
        let setting = try Setting()
        let body = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let (data, _) = try await setting.session.upload(body, to: setting.proxy.url("/echo"))
        #expect(data == body)
        try await setting.end()
        let record = try #require(setting.proxy.connections.first)
        #expect(record.receivedUpstream == record.sentUpstream && record.sentUpstream > body.count)
        #expect(record.receivedDownstream == setting.server.bytesWritten)
        #expect(record.sentDownstream == record.receivedDownstream)
        #expect(record.end == .closed)
    }

    @Test func severalConnectionsAreServedAtATime() async throws {
        let setting = try Setting()
        try await withThrowingTaskGroup(of: Data.self) { [session = setting.session, proxy = setting.proxy] group in
            for number in 0..<20 {
                group.addTask {
                    try await session.upload(Data(repeating: UInt8(number), count: 50_000), to: proxy.url("/echo")).0
                }
            }
            var sums: Set<UInt8> = []
            for try await data in group {
                #expect(data.count == 50_000 && Set(data).count == 1)
                sums.formUnion(data.prefix(1))
            }
            #expect(sums.count == 20)
        }
        try await setting.end()
    }

    @Test func aLatencyHoldsBytesUpUntilItsTime() async throws {
        let setting = try Setting([.latency(.seconds(60), of: .downstream)])
        let call = Task { [session = setting.session, proxy = setting.proxy] in try await session.string(proxy.url()) }
        try await setting.waitUntilReceived()
        #expect(setting.proxy.connections[0].sentDownstream == 0)
        setting.clock.move(by: .seconds(60))
        #expect(try await call.value == "hello world")
        try await setting.end()
    }

    @Test func aBandwidthLetsItsBytesPassInASecond() async throws {
        let setting = try Setting([.bandwidth(bytesPerSecond: 1000, of: .downstream)])
        let body = Data(repeating: 1, count: 2500)
        let call = Task { [session = setting.session, proxy = setting.proxy] in
            try await session.upload(body, to: proxy.url("/echo")).0
        }
        try await setting.waitUntilReceived()
        let total = setting.server.bytesWritten
        for second in 1...3 {
            setting.clock.move(by: .seconds(1))
            let expected = min(total, second * 1000)
            try await setting.proxy.wait { $0[0].sentDownstream >= expected }
            #expect(setting.proxy.connections[0].sentDownstream == expected)
        }
        #expect(try await call.value == body)
        try await setting.end()
    }

    @Test func aSlowCloseDelaysTheEnd() async throws {
        let setting = try Setting([.slowClose(.seconds(60), of: .downstream)])
        let call = Task { [session = setting.session, proxy = setting.proxy] in
            try await session.string(proxy.url("/close"))
        }
        try await setting.waitUntilReceived()
        try await setting.proxy.wait { $0[0].sentDownstream == $0[0].receivedDownstream }
        #expect(setting.proxy.connections[0].end == .none)
        // The end may reach the proxy after its last byte: the clock is moved until that end is due.
        let waiting = Task { try await call.value }
        while setting.proxy.connections[0].end == .none, !Task.isCancelled {
            setting.clock.move(by: .seconds(60))
            await Task.yield()
        }
        #expect(try await waiting.value == "until the end")
        try await setting.end()
    }

    @Test func aTimeoutLosesTheBytesAndClosesTheConnection() async throws {
        let setting = try Setting([.timeout(.seconds(30), of: .downstream)])
        let call = Task { [session = setting.session, proxy = setting.proxy] in
            try await session.upload(Data("x".utf8), to: proxy.url("/echo"))
        }
        try await setting.waitUntilReceived()
        setting.clock.move(by: .seconds(30))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .receive)
        try await setting.end()
        #expect(setting.proxy.connections[0].sentDownstream == 0)
        #expect(setting.proxy.connections[0].end == .closed)
    }

    @Test func aResetComesAtItsTime() async throws {
        let setting = try Setting([.latency(.seconds(60), of: .downstream), .reset(after: .seconds(5))])
        let call = Task { [session = setting.session, proxy = setting.proxy] in
            try await session.upload(Data("x".utf8), to: proxy.url("/echo"))
        }
        try await setting.waitUntilReceived()
        setting.clock.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .receive)
        try await setting.end()
        #expect(setting.proxy.connections[0].end == .reset)
    }

    @Test func aSlicerSendsOnePieceAfterTheOther() async throws {
        let setting = try Setting([.slicer(size: 10, pause: .seconds(1), of: .downstream)])
        let call = Task { [session = setting.session, proxy = setting.proxy] in try await session.string(proxy.url()) }
        try await setting.waitUntilReceived()
        for pieces in 1...3 {
            try await setting.proxy.wait { $0[0].sentDownstream >= 10 * pieces }
            #expect(setting.proxy.connections[0].sentDownstream == 10 * pieces)
            setting.clock.move(by: .seconds(1))
        }
        setting.clock.move(by: .seconds(60))
        #expect(try await call.value == "hello world")
        try await setting.end()
    }

    @Test func aLimitClosesTheConnectionAfterItsBytes() async throws {
        let setting = try Setting([.byteLimit(200, of: .downstream)])
        let error = await #expect(throws: TrellisError.self) {
            try await setting.session.upload(Data(repeating: 1, count: 5000), to: setting.proxy.url("/echo"))
        }
        #expect(error?.kind == .truncatedBody || error?.kind == .receive)
        try await setting.end()
        #expect(setting.proxy.connections[0].sentDownstream == 200)
        #expect(setting.proxy.connections[0].end == .closed)
    }

    /// The toxics of an open connection can be changed, and the connection continues.
    @Test func toxicsChangeWhileTheProxyRuns() async throws {
        let setting = try Setting()
        #expect(try await setting.session.string(setting.proxy.url()) == "hello world")
        setting.proxy.toxics = [.latency(.seconds(60))]
        let call = Task { [session = setting.session, proxy = setting.proxy] in try await session.string(proxy.url()) }
        try await setting.proxy.wait { $0[0].receivedUpstream > $0[0].sentUpstream }
        setting.proxy.toxics = []
        setting.clock.move(by: .seconds(60))
        #expect(try await call.value == "hello world")
        #expect(setting.proxy.connections.count == 1)
        setting.proxy.toxics = [.reset()]
        try await setting.proxy.wait { $0[0].end == .reset }
        setting.proxy.toxics = []
        #expect(try await setting.session.string(setting.proxy.url()) == "hello world")
        #expect(setting.proxy.connections.count == 2)
        try await setting.end()
    }

    /// The random choice of connections is the same for the same seed.
    @Test func aPartOfTheConnectionsIsDisturbed() async throws {
        var choices: [[Bool]] = []
        for seed: UInt64 in [1, 1, 2] {
            let setting = try Setting([.byteLimit(1, of: .downstream).with(probability: 0.5)], seed: seed)
            for _ in 0..<24 {
                // Each request has a connection of its own.
                let session = Session()
                _ = try? await session.upload(Data("x".utf8), to: setting.proxy.url("/echo"))
                await session.shutdown()
            }
            try await setting.end()
            choices.append(setting.proxy.connections.map { !$0.toxics.isEmpty })
            for record in setting.proxy.connections { #expect((record.sentDownstream == 1) == !record.toxics.isEmpty) }
        }
        #expect(choices[0] == choices[1] && choices[0] != choices[2])
        #expect(choices[0].contains(true) && choices[0].contains(false))
    }

    @Test func aServerThatCannotBeReachedResetsTheClient() async throws {
        let proxy = try FaultProxy(to: "127.0.0.1", port: ClosedPort().port)
        let session = Session()
        let error = await #expect(throws: TrellisError.self) {
            try await session.upload(Data("x".utf8), to: proxy.url())
        }
        // The reset may arrive before the client has seen its connection, or sent its request.
        #expect([.connect, .send, .receive].contains(error?.kind))
        try await proxy.waitUntilClosed(count: 1)
        #expect(proxy.connections[0].end == .reset)
        await session.shutdown()
    }

    @Test func moreConnectionsThanAllowedWait() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let proxy = try FaultProxy(to: "localhost", port: server.port, maximumConnections: 1)
        let first = Session(), second = Session()
        #expect(try await first.string(proxy.url()) == "hello")
        let call = Task { try await second.string(proxy.url()) }
        #expect(proxy.connections.count == 1)
        await first.shutdown()
        #expect(try await call.value == "hello")
        #expect(proxy.connections.count == 2)
        await second.shutdown()
    }

    @Test func stoppingEndsTheConnections() async throws {
        let setting = try Setting([.latency(.seconds(60))])
        let call = Task { [session = setting.session, proxy = setting.proxy] in
            try await session.upload(Data("x".utf8), to: proxy.url())
        }
        try await setting.proxy.wait { $0.count == 1 && $0[0].receivedUpstream > 0 }
        setting.proxy.stop()
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .receive)
        #expect(setting.proxy.connections.map(\.end) == [.reset])
        try await setting.end()
    }

    /// A clock that outlives a proxy keeps none of its descriptors.
    @Test func aClockDoesNotKeepAProxy() throws {
        let clock = TestClock()
        weak var wake: LoopbackWake?
        do {
            let control = try FaultProxyControl(toxics: [], clock: clock.engineSide)
            wake = control.wake
            #expect(wake != nil)
            withExtendedLifetime(control) {}
        }
        #expect(wake == nil)
        clock.move(by: .seconds(1))
    }

    @Test func tlsPasses() async throws {
        let server = try LoopbackServer.https { _ in .text("secret") }
        let proxy = try FaultProxy(to: server, toxics: [.slicer(size: 100)])
        let session = Session(configuration: server.sessionConfiguration())
        #expect(try await session.string(proxy.url(scheme: "https")) == "secret")
        await session.shutdown()
    }
}
