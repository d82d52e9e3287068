import CCurl
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// The connections over HTTP/2 beside the first one to an origin, and the requests that wait for streams.
@Suite(.timeLimit(.minutes(3)), .enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct HTTP2PoolTests {
    private typealias Script = @Sendable (RawHTTP2, LoopbackServer.Gate) throws -> Void

    /// A server of HTTP/2 with prior knowledge, and an engine that knows its limit of streams.
    private struct World {
        let server: LoopbackServer
        let run: EngineRun
        let clock = TestClock()
        /// Opened when the server may answer.
        let answers = LoopbackServer.Gate()

        init(_ script: @escaping Script) throws {
            let answers = answers
            server = try LoopbackServer { try script(RawHTTP2(connection: $0), answers) }
            run = EngineRun(EngineConfiguration(), clock: clock.engineSide)
        }

        var options: TransferOptions {
            get throws {
                TransferOptions(
                    url: try WireURL(parsing: server.url("/")), method: "GET", version: .http2PriorKnowledge,
                    mayBeReplayed: true)
            }
        }

        func get() async throws -> EngineRun.Outcome { await run.perform(try options) }

        /// Returns what a closure reads of the pool of the server.
        func inPool<Value: Sendable>(_ body: @escaping @Sendable (HTTP2Pool) -> Value) async throws -> Value? {
            let (name, engine) = (try options.wirePool, run.engine)
            return await run.onEngine { engine.wire.http2.known(name).map(body) }
        }

        func until(_ condition: @escaping @Sendable (HTTP2Pool) -> Bool) async throws {
            while try await inPool(condition) != true { try Task.checkCancellation() }
        }

        /// Lets a transfer make a connection beside others, of which nothing comes. Returns its outcome in the end.
        func leading(_ body: @escaping @Sendable (CurlEngine, Transfer) -> Void = { _, _ in }) async throws
            -> EngineRun.Outcome
        {
            let (options, engine) = (try options, run.engine)
            return await withContinuation { continuation in
                run.executor.submit {
                    let outcome = EngineRun.Outcome(whenEnded: { continuation.resume(returning: $0) })
                    let transfer = engine.makeTransfer(options)
                    (transfer.delegate, outcome.transfer) = (outcome, transfer)
                    if let pool = engine.wire.http2.known(options.wirePool) { engine.wire.lead(transfer, in: pool) }
                    body(engine, transfer)
                }
            }
        }

        func finish() async throws {
            await run.finish()
            try await server.waitUntilAllClosed()
        }
    }

    /// Returns SETTINGS with a limit of streams.
    private static func limit(_ streams: UInt8) -> [UInt8] {
        RawHTTP2.frame(RawHTTP2.settings, 0, stream: 0, [0, 3, 0, 0, 0, streams])
    }

    private static func answer(_ stream: UInt32, status: String = "200") -> [UInt8] {
        RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, RawHTTP2.field(":status", status))
            + RawHTTP2.frame(RawHTTP2.data, RawHTTP2.endStream, stream: stream, Array("good".utf8))
    }

    /// Allows one stream, answers the first request of the first connection at once, and the others when it may.
    private static let oneStream: Script = { peer, answers in
        _ = try peer.connection.read(exactly: 24)
        try peer.connection.write(limit(1))
        var stream = try peer.readFurtherRequest()
        if peer.connection.ordinal == 1 {
            try peer.connection.write(answer(stream))
            stream = try peer.readFurtherRequest()
        }
        while true {
            try peer.connection.wait(for: answers)
            try peer.connection.write(answer(stream))
            stream = try peer.readFurtherRequest()
        }
    }

    // MARK: Connections beside others

    @Test func aConnectionBesideOthersThatFailsFailsNoRequest() async throws {
        let world = try World(Self.oneStream)
        #expect(try await world.get().text == "good")
        async let first = world.get()
        try await world.until { $0.connections.first?.isIdle == false }
        async let second = world.leading { engine, transfer in
            engine.wire.end(transfer, EngineFailure(CURLE_COULDNT_CONNECT, detail: "refused"))
        }
        // The request waits now. After the pause, it may make another connection.
        try await world.until { $0.pauseEnd != nil }
        world.answers.open()
        #expect(try await first.text == "good")
        #expect(try await second.text == "good")
        try await world.finish()
    }

    @Test func aConnectionBesideOthersHasALimitOfTime() async throws {
        let world = try World(Self.oneStream)
        #expect(try await world.get().text == "good")
        async let first = world.get()
        try await world.until { $0.connections.first?.isIdle == false }
        async let second = world.leading()
        try await world.until { $0.busyCount == 2 && !$0.hasWaiting }
        world.clock.move(by: HTTP2Pool.patience)
        // The request waits now. After the pause, it may make another connection.
        try await world.until { $0.pauseEnd != nil }
        world.answers.open()
        #expect(try await first.text == "good")
        #expect(try await second.text == "good")
        try await world.finish()
    }

    /// The limit of time is over while the transfer is queued to start again, as for want of a file descriptor.
    @Test func aQueuedRequestThatWaitsForAStreamIsNotStarted() async throws {
        let world = try World(Self.oneStream)
        #expect(try await world.get().text == "good")
        async let first = world.get()
        try await world.until { $0.connections.first?.isIdle == false }
        async let second = world.leading { engine, transfer in
            engine.resume(transfer)
            _ = engine.wire.waitInstead(transfer, after: EngineFailure(CURLE_OPERATION_TIMEDOUT, detail: ""))
        }
        try await world.until { $0.pauseEnd != nil }
        world.answers.open()
        #expect(try await first.text == "good")
        #expect(try await second.text == "good")
        // A request that waited twice would seem to wait for ever.
        #expect(try await world.inPool(\.hasWaiting) == false)
        try await world.finish()
    }

    /// A stream is free before the connection is there.
    @Test func aConnectionThatIsNotNeededIsGivenUp() async throws {
        let world = try World(Self.oneStream)
        #expect(try await world.get().text == "good")
        async let first = world.get()
        try await world.until { $0.connections.first?.isIdle == false }
        async let second = world.leading()
        try await world.until { $0.busyCount == 2 }
        world.answers.open()
        #expect(try await first.text == "good")
        #expect(try await second.text == "good")
        #expect(try await world.inPool(\.busyCount) == 0)
        #expect(world.server.acceptedCount == 1)
        try await world.finish()
    }

    @Test func aTimeoutOfConnectingDoesNotCountBesideOthers() async throws {
        let world = try World(Self.oneStream)
        #expect(try await world.get().text == "good")
        async let first = world.get()
        try await world.until { $0.connections.first?.isIdle == false }
        let starts = Locked<[EngineInstant?]>([])
        async let second = world.leading { _, transfer in starts.withLock { $0.append(transfer.connectStart) } }
        try await world.until { $0.busyCount == 2 }
        #expect(starts.withLock { $0.count == 1 && $0[0] != nil })
        world.answers.open()
        #expect(try await first.text == "good")
        #expect(try await second.text == "good")
        try await world.finish()
    }

    /// The session's limits may leave no connection beside the first one, and leave one later.
    @Test func noConnectionIsMadeBesideOthersWithoutPermission() async throws {
        let world = try World { peer, answers in
            guard peer.connection.ordinal == 1 else {
                try peer.connection.write(Self.answer(try peer.readRequest()))
                return answers.open()
            }
            try Self.oneStream(peer, answers)
        }
        let asked = Locked<[Int]>([]), mayAdd = Locked(false)
        await world.run.onEngine { [engine = world.run.engine] in
            engine.onCount({ _ in }) { _, count in
                asked.withLock { $0.append(count) }
                return mayAdd.withLock { $0 }
            }
        }
        #expect(try await world.get().text == "good")
        #expect(asked.withLock { $0.isEmpty })
        async let first = world.get()
        try await world.until { $0.connections.first?.isIdle == false }
        async let second = world.get()
        try await world.until(\.hasWaiting)
        #expect(asked.withLock { $0.first } == 2 && world.server.acceptedCount == 1)
        mayAdd.withLock { $0 = true }
        #expect(try await second.text == "good")
        #expect(try await first.text == "good")
        #expect(world.server.acceptedCount == 2)
        try await world.finish()
    }

    // MARK: The server's limit of streams

    /// The server has not told its settings yet, and the engine knows them from the first connection.
    @Test func aNewConnectionGetsNoMoreStreamsThanTheServerAllowedLast() async throws {
        let world = try World { peer, answers in
            guard peer.connection.ordinal > 1 else { return try Self.oneStream(peer, answers) }
            // Nothing is written before the settings.
            _ = try peer.connection.read(exactly: 24)
            try peer.connection.wait(for: answers)
            try peer.connection.write(Self.limit(1))
            try peer.connection.write(Self.answer(try peer.readFurtherRequest()))
            _ = try peer.connection.readToEnd()
        }
        #expect(try await world.get().text == "good")
        async let first = world.get()
        async let second = world.get()
        async let third = world.get()
        // None of the others could be answered before.
        try await world.server.waitUntilAccepted(count: 3)
        world.answers.open()
        for outcome in [try await first, try await second, try await third] { #expect(outcome.text == "good") }
        #expect(world.server.acceptedCount == 3)
        try await world.finish()
    }

    @Test func requestsWaitWhileTheServerAllowsNoStream() async throws {
        let world = try World { peer, answers in
            _ = try peer.connection.read(exactly: 24)
            try peer.connection.write(Self.limit(1))
            let stream = try peer.readFurtherRequest()
            try peer.connection.write(Self.limit(0) + Self.answer(stream))
            try peer.connection.wait(for: answers)
            try peer.connection.write(Self.limit(2))
            while true { try peer.connection.write(Self.answer(try peer.readFurtherRequest())) }
        }
        #expect(try await world.get().text == "good")
        async let first = world.get()
        async let second = world.get()
        try await world.until(\.hasWaiting)
        #expect(world.server.acceptedCount == 1)
        world.answers.open()
        #expect(try await first.text == "good")
        #expect(try await second.text == "good")
        #expect(world.server.acceptedCount == 1)
        try await world.finish()
    }

    /// A connection that gets no more requests ends after its streams, and says so.
    @Test func aConnectionThatIsDrainedEndsWithGoAway() async throws {
        let frames = Locked<[UInt8]>([])
        let world = try World { peer, answers in
            try peer.connection.write(Self.answer(try peer.readRequest()))
            let stream = try peer.readFurtherRequest()
            try peer.connection.wait(for: answers)
            try peer.connection.write(Self.answer(stream))
            while true {
                let head = try peer.connection.read(exactly: 9)
                frames.withLock { $0.append(head[3]) }
                _ = try peer.connection.read(exactly: Int(head[1]) << 8 | Int(head[2]))
            }
        }
        #expect(try await world.get().text == "good")
        async let last = world.get()
        try await world.until { $0.connections.first?.isIdle == false }
        let engine = world.run.engine
        _ = try await world.inPool { $0.connections.first?.leave(in: engine.wire) }
        #expect(try await world.inPool(\.hasConnections) == false)
        world.answers.open()
        #expect(try await last.text == "good")
        try await world.server.waitUntilAllClosed()
        #expect(frames.withLock { $0.last } == RawHTTP2.goAway)
        try await world.finish()
    }

    // MARK: Misdirected requests

    /// A new connection may reach another server. What that says holds.
    @Test(arguments: [false, true])
    func aMisdirectedRequestGoesOnceToANewConnection(_ isAlwaysMisdirected: Bool) async throws {
        let world = try World { peer, _ in
            var stream = try peer.readRequest()
            let isFirst = peer.connection.ordinal == 1
            try peer.connection.write(Self.answer(stream, status: isFirst || !isAlwaysMisdirected ? "200" : "421"))
            stream = try peer.readFurtherRequest()
            try peer.connection.write(Self.answer(stream, status: isFirst ? "421" : "202"))
            _ = try peer.connection.readToEnd()
        }
        #expect(try await world.get().head?.status == 200)
        #expect(try await world.get().head?.status == (isAlwaysMisdirected ? 421 : 200))
        #expect(world.server.acceptedCount == 2)
        // The new connection is used before the other one.
        #expect(try await world.get().head?.status == 202)
        try await world.finish()
    }

    /// A connection that was made for the request cannot be the wrong one.
    @Test func aMisdirectedRequestOnItsFirstConnectionIsNotRepeated() async throws {
        let world = try World { peer, _ in
            try peer.connection.write(Self.answer(try peer.readRequest(), status: "421"))
            _ = try peer.connection.readToEnd()
        }
        let outcome = try await world.get()
        #expect(outcome.head?.status == 421 && outcome.text == "good" && world.server.acceptedCount == 1)
        try await world.finish()
    }

    // MARK: The protocol of a server

    @Test func overHTTP1TheOthersConnectAtOnce() async throws {
        let (tls, answers) = (try LoopbackServer.TLS(), LoopbackServer.Gate())
        let server = try LoopbackServer(tls: tls) { connection in
            while try connection.nextRequest() != nil {
                try connection.wait(for: answers)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
            }
        }
        var rules = TransferTrust.Rules()
        rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false)
        let options = TransferOptions(
            url: try WireURL(parsing: server.url("/")),
            trust: TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: 1), method: "GET",
            version: .http2OverTLS, mayBeReplayed: true)
        let run = EngineRun(EngineConfiguration())
        async let first = run.perform(options)
        async let second = run.perform(options)
        async let third = run.perform(options)
        // None of them is answered before.
        try await server.waitUntilAccepted(count: 3)
        answers.open()
        for outcome in [await first, await second, await third] {
            #expect(outcome.text == "good" && outcome.head?.version == .http1_1)
        }
        await run.finish()
    }

    @Test func theProtocolOfAServerIsRememberedForATime() {
        let start = EngineInstant(nanoseconds: 1)
        var memory = HTTP2Memory()
        #expect(!memory.isHTTP1(at: start) && !memory.speaksHTTP2)
        memory.didChooseHTTP1(now: start)
        #expect(memory.isHTTP1(at: start.advanced(by: .seconds(599))) && !memory.refusesHTTP2)
        #expect(!memory.isHTTP1(at: start.advanced(by: .seconds(600))))
        memory.didChooseHTTP1(now: start, refusesHTTP2: true)
        #expect(memory.isHTTP1(at: start) && memory.refusesHTTP2)
        memory.didAgree()
        #expect(!memory.isHTTP1(at: start) && memory.speaksHTTP2 && !memory.refusesHTTP2)
    }
}
