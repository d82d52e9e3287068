import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// The engine itself speaks HTTP/2 on its own connections.
@Suite(.timeLimit(.minutes(3)), .enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct WireHTTP2Tests {
    /// A server of HTTP/2 with prior knowledge, and an engine.
    private struct World {
        let server: LoopbackServer
        let run: EngineRun
        let trust: TransferTrust

        init(
            tls: LoopbackServer.TLS? = nil, connections: Int = 4,
            _ script: @escaping @Sendable (RawHTTP2) throws -> Void
        ) throws {
            server = try LoopbackServer(tls: tls) { try script(RawHTTP2(connection: $0)) }
            var configuration = EngineConfiguration()
            configuration.sharedConnections = connections
            run = EngineRun(configuration)
            var rules = TransferTrust.Rules()
            if let tls { rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false) }
            trust = TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: tls == nil ? 0 : 1)
        }

        func options(
            _ method: String = "GET", body: TransferOptions.Body = .none, mayBeReplayed: Bool = true,
            readsCertificates: Bool = false
        ) throws -> TransferOptions {
            TransferOptions(
                url: try WireURL(parsing: server.url("/")), trust: trust, method: method, body: body,
                version: .http2PriorKnowledge, mayBeReplayed: mayBeReplayed, readsCertificates: readsCertificates)
        }

        func get() async throws -> EngineRun.Outcome { await run.perform(try options()) }

        /// Runs transfers at the same time.
        func performTogether(_ count: Int) async throws -> [EngineRun.Outcome] {
            let options = try options(), run = run
            return await withTaskGroup(of: EngineRun.Outcome.self) { group in
                for _ in 0..<count { group.addTask { await run.perform(options) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }

        func finish() async throws {
            await run.finish()
            try await server.waitUntilAllClosed()
        }
    }

    private static func answer(_ stream: UInt32, _ text: String = "good") -> [UInt8] {
        RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, RawHTTP2.statusOK)
            + RawHTTP2.frame(RawHTTP2.data, RawHTTP2.endStream, stream: stream, Array(text.utf8))
    }

    /// Returns the frame of a GOAWAY.
    private static func goAway(last stream: UInt32, code: UInt8 = 0) -> [UInt8] {
        RawHTTP2.frame(
            RawHTTP2.goAway, 0, stream: 0,
            (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * $0)) } + [0, 0, 0, code])
    }

    @Test func requestsShareAConnection() async throws {
        let world = try World { peer in
            try peer.connection.write(Self.answer(try peer.readRequest()))
            while true { try peer.connection.write(Self.answer(try peer.readFurtherRequest())) }
        }
        let first = try await world.get(), second = try await world.get()
        #expect(first.text == "good" && second.text == "good" && world.server.acceptedCount == 1)
        #expect(first.head?.version == .http2 && first.head?.status == 200)
        #expect(first.end?.report.isReusedConnection == false && second.end?.report.isReusedConnection == true)
        #expect(second.end?.report.peerAddress == "127.0.0.1" && second.end?.report.connect == 0)
        let run = world.run
        #expect(await run.onEngine { (run.engine.wire.openCount, run.engine.wire.idleCount) == (1, 1) })
        try await world.finish()
    }

    /// Streams need no second connection.
    @Test func oneConnectionIsOpenedInAdvance() async throws {
        let world = try World { peer in
            try peer.connection.write(Self.answer(try peer.readRequest()))
            _ = try peer.connection.readToEnd()
        }
        let run = world.run
        let options = TransferOptions(
            url: try WireURL(parsing: world.server.url("/")), method: "GET", version: .http2PriorKnowledge,
            connectionCount: 3)
        let failures = await withTaskGroup { group in
            for _ in 0..<3 { group.addTask { await run.perform(options).end?.failure } }
            return await group.reduce(into: []) { if let failure = $1 { $0.append(failure) } }
        }
        #expect(failures.isEmpty)
        #expect(await run.onEngine { (run.engine.wire.openCount, run.engine.wire.idleCount) == (1, 1) })
        let outcome = try await world.get()
        #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == true)
        #expect(world.server.acceptedCount == 1)
        try await world.finish()
    }

    @Test func requestsThatBeginTogetherWaitForTheFirstConnection() async throws {
        let world = try World { peer in
            // No response comes before all requests were sent.
            let streams = [try peer.readRequest(), try peer.readFurtherRequest(), try peer.readFurtherRequest()]
            for stream in streams.reversed() { try peer.connection.write(Self.answer(stream)) }
            _ = try peer.connection.readToEnd()
        }
        let outcomes = try await world.performTogether(3)
        #expect(outcomes.allSatisfy { $0.text == "good" } && world.server.acceptedCount == 1)
        try await world.finish()
    }

    @Test func aRequestBeyondAGoAwayIsSentAgainWhateverItsMethod() async throws {
        let world = try World { peer in
            let stream = try peer.readRequest()
            if peer.connection.ordinal == 1 {
                try peer.connection.write(Self.goAway(last: 0))
            } else {
                try peer.connection.write(Self.answer(stream))
            }
            _ = try peer.connection.readToEnd()
        }
        let outcome = await world.run.perform(
            try world.options("POST", body: .bytes(Array("body".utf8)), mayBeReplayed: false))
        #expect(outcome.text == "good" && world.server.acceptedCount == 2)
        try await world.finish()
    }

    /// Nothing may happen on the present connections for a long time.
    @Test func theNextRequestConnectsAfterACancelledAttemptBesideAConnection() async throws {
        let world = try World { peer in
            try peer.connection.write(Self.answer(try peer.readRequest()))
            _ = try peer.connection.readToEnd()
        }
        #expect(try await world.get().text == "good")
        let options = try world.options(), engine = world.run.engine
        let isServed = await world.run.onEngine {
            guard let pool = engine.wire.http2.known(options.wirePool) else { return false }
            let (leader, waiting) = (engine.makeTransfer(options), engine.makeTransfer(options))
            pool.begin(leader)
            pool.wait(waiting)
            _ = pool.leave(leader)
            defer { _ = pool.leave(waiting) }
            return pool.connections.first?.isReadyListed == true
        }
        #expect(isServed)
        try await world.finish()
    }

    @Test func waitingRequestsKeepTheirOrderWhenOthersLeave() async throws {
        let world = try World { _ in }
        let options = try world.options(), engine = world.run.engine
        let isInOrder = await world.run.onEngine {
            let pool = HTTP2Pool("", maximum: 1)
            let transfers = (0..<100).map { _ in engine.makeTransfer(options) }
            for transfer in transfers { pool.wait(transfer) }
            for (index, transfer) in transfers.enumerated() where index % 30 != 7 { _ = pool.leave(transfer) }
            let rest = [7, 37, 67, 97].map { transfers[$0] }
            return pool.hasWaiting && pool.takeAll() == rest && !pool.hasWaiting
        }
        #expect(isInOrder)
        await world.run.finish()
    }

    /// Requests that wait for a stream are no exception.
    @Test func nothingIsSentForATimeToAServerThatAsksForCalm() async throws {
        let calls = Locked([ContinuousClock.Instant]())
        let world = try World(connections: 1) { peer in
            let first = try peer.readRequest()
            guard peer.connection.ordinal == 1 else {
                calls.withLock { $0.append(.now) }
                try peer.connection.write(Self.answer(first))
                while true { try peer.connection.write(Self.answer(try peer.readFurtherRequest())) }
            }
            // One stream at a time.
            try peer.connection.write(RawHTTP2.frame(RawHTTP2.settings, 0, stream: 0, [0, 3, 0, 0, 0, 1]))
            try peer.connection.write(Self.answer(first))
            let second = try peer.readFurtherRequest()
            calls.withLock { $0.append(.now) }
            try peer.connection.write(Self.answer(second) + Self.goAway(last: second, code: 0xb))
            _ = try peer.connection.readToEnd()
        }
        #expect(try await world.get().text == "good")
        let outcomes = try await world.performTogether(3)
        #expect(outcomes.allSatisfy { $0.text == "good" } && world.server.acceptedCount == 2)
        let (start, end) = try calls.withLock { (try #require($0.first), try #require($0.last)) }
        #expect(end - start >= HTTP2Repetition.calmWait)
        try await world.finish()
    }

    /// The next time that the server asks for calm, the wait is as short as the first one.
    @Test func aResponseEndsTheCallForCalm() async throws {
        let world = try World { peer in
            let stream = try peer.readRequest()
            // ENHANCE_YOUR_CALM
            try peer.connection.write(RawHTTP2.frame(RawHTTP2.reset, 0, stream: stream, [0, 0, 0, 11]))
            try peer.connection.write(Self.answer(try peer.readFurtherRequest()))
            _ = try peer.connection.readToEnd()
        }
        let (options, run) = (try world.options(), world.run)
        func isCalled() async -> Bool {
            await run.onEngine { run.engine.wire.http2.known(options.wirePool)?.calm.end != nil }
        }
        #expect(await run.perform(options).end?.failure != nil)
        #expect(await isCalled())
        #expect(await run.perform(options).text == "good")
        #expect(await !isCalled())
        try await world.finish()
    }

    /// The first connection is dead: its server answers one request, and then not even a PING.
    @Test func aDeadConnectionFailsByNameAndIsReplaced() async throws {
        let world = try World { peer in
            try peer.connection.write(Self.answer(try peer.readRequest()))
            if peer.connection.ordinal == 1 { return _ = try peer.connection.readToEnd() }
            while true { try peer.connection.write(Self.answer(try peer.readFurtherRequest())) }
        }
        #expect(try await world.get().text == "good")
        let (run, name) = (world.run, try world.options().wirePool)
        async let lost = world.get()
        // The limits are short for this connection alone, and only from now on: the others may take their time.
        let isImpatient: @Sendable () -> Bool = {
            guard let connection = run.engine.wire.http2.known(name)?.connections.first, !connection.isIdle,
                let session = connection.session
            else { return false }
            let limits = HTTP2Keepalive.Settings(interval: .milliseconds(50), patience: .milliseconds(50))
            session.policy.keepalive = HTTP2Keepalive(limits, at: connection.now)
            connection.isReady()
            return true
        }
        while await !run.onEngine(isImpatient), !Task.isCancelled { await Task.yield() }
        let failure = try await lost.end?.failure
        #expect(failure?.kind == .http2 && failure?.isUnprocessed == false)
        #expect(failure?.message.hasSuffix("not even a PING") == true, "\(failure?.message ?? "")")
        #expect(try await world.get().text == "good" && world.server.acceptedCount == 2)
        try await world.finish()
    }

    @Test func aCancelledRequestResetsItsStreamAlone() async throws {
        let world = try World { peer in
            let stream = try peer.readRequest()
            try peer.connection.write(
                RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, RawHTTP2.statusOK))
            while true {
                let head = try peer.connection.read(exactly: 9)
                let payload = try peer.connection.read(exactly: Int(head[1]) << 8 | Int(head[2]))
                guard head[3] == RawHTTP2.reset else { continue }
                // CANCEL
                guard payload == [0, 0, 0, 8] else { return peer.connection.reset() }
                break
            }
            try peer.connection.write(Self.answer(try peer.readFurtherRequest()))
            _ = try peer.connection.readToEnd()
        }
        let options = try world.options(), run = world.run
        await withContinuation { continuation in
            run.executor.submit {
                let delegate = Cancelling { continuation.resume() }
                delegate.transfer = run.engine.start(options, delegate: delegate)
            }
        }
        #expect(try await world.get().text == "good" && world.server.acceptedCount == 1)
        try await world.finish()
    }

    @Test func nothingIsSentForARequestThatIsCancelledBeforeItsStream() async throws {
        let world = try World { peer in
            let first = try peer.readRequest(), next = try peer.readFurtherRequest()
            // The stream between them is the cancelled one.
            guard (first, next) == (1, 5) else { return peer.connection.reset() }
            for stream in [first, next] { try peer.connection.write(Self.answer(stream)) }
            _ = try peer.connection.readToEnd()
        }
        let options = try world.options(), run = world.run
        let outcomes: [EngineRun.Outcome] = await withContinuation { continuation in
            run.executor.submit {
                let first = EngineRun.Outcome()
                let last = EngineRun.Outcome(whenEnded: { continuation.resume(returning: [first, $0]) })
                run.start(options, first)
                let delegate = Cancelling(whenConnected: true) {}
                delegate.transfer = run.engine.start(options, delegate: delegate)
                run.start(options, last)
            }
        }
        #expect(outcomes.allSatisfy { $0.text == "good" } && world.server.acceptedCount == 1)
        try await world.finish()
    }

    /// A delegate that cancels its transfer when it gets certificates or the head of the response, or when there is a connection.
    private final class Cancelling: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        var transfer: Transfer?
        private let cancelsEarly: Bool
        private let whenCancelled: () -> Void

        init(whenConnected cancelsEarly: Bool = false, _ whenCancelled: @escaping () -> Void) {
            (self.cancelsEarly, self.whenCancelled) = (cancelsEarly, whenCancelled)
        }

        func transferDidReceiveCertificates(_ chain: CertificateChain?) { cancel() }
        func transferIsConnected() { if cancelsEarly { cancel() } }
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) { cancel() }
        private func cancel() {
            transfer?.cancel()
            transfer = nil
            whenCancelled()
        }
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) {}
    }

    /// A server may send such heads to keep a request alive.
    @Test func anInformationalHeadIsASignOfLife() async throws {
        let world = try World { peer in
            let stream = try peer.readRequest()
            let head = RawHTTP2.field(":status", "102")
            try peer.connection.write(RawHTTP2.frame(RawHTTP2.headers, RawHTTP2.endHeaders, stream: stream, head))
            _ = try peer.connection.readToEnd()
        }
        let options = try world.options(), run = world.run
        let isAlive: Bool = await withContinuation { continuation in
            run.executor.submit {
                let delegate = Listening { continuation.resume(returning: $0.times.last > $0.start) }
                delegate.transfer = run.engine.start(options, delegate: delegate)
            }
        }
        #expect(isAlive)
        try await world.finish()
    }

    /// A delegate that cancels its transfer after an informational head.
    private final class Listening: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        var transfer: Transfer?
        private let whenInformed: (Transfer) -> Void

        init(_ whenInformed: @escaping (Transfer) -> Void) { self.whenInformed = whenInformed }

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {
            guard let transfer else { return }
            whenInformed(transfer)
            transfer.cancel()
            self.transfer = nil
        }
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) {}
    }

    @Test func aStreamedBodyEndsWithItsStream() async throws {
        let world = try World { peer in
            var stream = try peer.readRequest()
            while true {
                var body: [UInt8] = [], isEnd = false
                while !isEnd {
                    let head = try peer.connection.read(exactly: 9)
                    let payload = try peer.connection.read(exactly: Int(head[1]) << 8 | Int(head[2]))
                    guard head[3] == RawHTTP2.data else { continue }
                    body += payload
                    isEnd = head[4] & RawHTTP2.endStream != 0
                }
                try peer.connection.write(Self.answer(stream, String(decoding: body, as: UTF8.self)))
                stream = try peer.readFurtherRequest()
            }
        }
        for length in [Int64?.some(8), nil] {
            let outcome = await world.run.perform(try world.options("POST", body: .stream(length: length)))
            let head = "POST / HTTP/2\r\nHost: 127.0.0.1:\(world.server.port)\r\nAccept: */*\r\n\r\n"
            let size = head.utf8.count + (length == nil ? 0 : "Content-Length: 8\r\n".utf8.count) + 8
            #expect(outcome.text == "streamed" && outcome.end?.report.bytesSent == Int64(size))
        }
        try await world.finish()
    }

    // MARK: TLS

    @Test func theFactsOfTLSAreReported() async throws {
        let world = try World(tls: LoopbackServer.TLS()) { peer in
            try peer.connection.write(Self.answer(try peer.readRequest()))
            while true { try peer.connection.write(Self.answer(try peer.readFurtherRequest())) }
        }
        for isReused in [false, true] {
            let outcome = try await world.get()
            #expect(outcome.text == "good" && outcome.end?.report.isReusedConnection == isReused)
            #expect(outcome.end?.report.tlsResult?.value.version == .v1_3)
        }
        try await world.finish()
    }

    /// The next request makes another connection, because it may find another server.
    @Test func nothingIsSentBeforeTheDelegateAcceptsTheCertificates() async throws {
        let received = Locked([Int]())
        let world = try World(tls: LoopbackServer.TLS()) { peer in
            let count = try peer.connection.readToEnd()
            received.withLock { $0.append(count) }
        }
        let options = try world.options(readsCertificates: true), run = world.run
        for count in 1...2 {
            await withContinuation { continuation in
                run.executor.submit {
                    let delegate = Cancelling { continuation.resume() }
                    let transfer = run.engine.makeTransfer(options)
                    delegate.transfer = transfer
                    run.engine.start(transfer, delegate: delegate)
                }
            }
            while await run.onEngine({ run.engine.openSocketCount }) > 0, !Task.isCancelled { await Task.yield() }
            try await world.server.waitUntilAllClosed()
            #expect(received.withLock { $0 } == [Int](repeating: 0, count: count))
        }
        try await world.finish()
    }

    /// Messages of TLS without content may arrive without end. Other requests go on.
    @Test func endlessKeyUpdatesKeepNoOtherRequest() async throws {
        let isOver = LoopbackServer.Gate()
        let world = try World(tls: LoopbackServer.TLS()) { peer in
            let stream = try peer.readRequest()
            // What waits in buffers is read after the end of the flood.
            peer.connection.limitSendBuffer(to: 64 << 10)
            repeat { try peer.connection.updateKey(times: 1000) } while !isOver.isOpen
            try peer.connection.write(Self.answer(stream))
            _ = try peer.connection.readToEnd()
        }
        let other = try LoopbackServer.http { _ in .text("other") }
        let (options, run) = (try world.options(), world.run)
        async let flooded = run.perform(options)
        while world.server.acceptedCount == 0, !Task.isCancelled { await Task.yield() }
        for _ in 1...20 { #expect(try await run.perform(EngineRun.get(other.url("/"))).text == "other") }
        isOver.open()
        #expect(await flooded.text == "good")
        try await world.finish()
    }

    /// Each record costs work, however few bytes it has.
    @Test func aBodyInRecordsOfOneByteArrives() async throws {
        let world = try World(tls: LoopbackServer.TLS()) { peer in
            for byte in Self.answer(try peer.readRequest(), String(repeating: "x", count: 2000)) {
                try peer.connection.write([byte])
            }
            _ = try peer.connection.readToEnd()
        }
        #expect(try await world.get().body.count == 2000)
        try await world.finish()
    }

    /// libcurl may close such a connection, with its session, before the first byte of a request is sent.
    @Test func aServerThatOnlyMakesHandshakes() async throws {
        let world = try World(tls: LoopbackServer.TLS()) { $0.connection.reset() }
        let outcomes = try await world.performTogether(20)
        #expect(outcomes.count == 20 && outcomes.allSatisfy { $0.end?.failure != nil })
        try await world.finish()
    }

    // MARK: The protocol

    /// A server over TLS, which agrees on no protocol.
    private struct SecureWorld {
        let server: LoopbackServer
        let run: EngineRun
        let trust: TransferTrust

        init(
            _ script: @escaping @Sendable (LoopbackServer.Connection) throws -> Void = { connection in
                while try connection.nextRequest() != nil {
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
                }
            }
        ) throws {
            let tls = try LoopbackServer.TLS()
            server = try LoopbackServer(tls: tls, script: script)
            run = EngineRun()
            var rules = TransferTrust.Rules()
            rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false)
            trust = TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: 1)
        }

        func options(_ version: TransferOptions.Version) throws -> TransferOptions {
            TransferOptions(
                url: try WireURL(parsing: server.url("/")), trust: trust, method: "GET", version: version,
                mayBeReplayed: true)
        }
    }

    @Test func aServerWithoutHTTP2IsSpokenToOverHTTP1() async throws {
        let world = try SecureWorld()
        let first = await world.run.perform(try world.options(.http2OverTLS))
        let second = await world.run.perform(try world.options(.http2OverTLS))
        #expect(first.head?.version == .http1_1 && second.text == "good" && world.server.acceptedCount == 1)
        await world.run.finish()
    }

    /// A dead idle connection, or a challenge of a proxy, is no reason to offer HTTP/2 again.
    @Test func aRequestForWhichTheServerDemandsHTTP1StaysThere() async throws {
        let run = EngineRun(EngineConfiguration())
        let options = TransferOptions(url: try WireURL(parsing: "https://a.invalid/"), method: "GET")
        for needsConnection in [true, false] {
            let wire = await run.onEngine {
                let transfer = run.engine.makeTransfer(options)
                transfer.connection.wire.mustSpeakHTTP1 = true
                run.engine.wire.prepareToRestart(transfer, needsConnection: needsConnection)
                return (transfer.wire.mustSpeakHTTP1, transfer.wire.needsConnection)
            }
            #expect(wire == (true, needsConnection))
        }
        await run.finish()
    }

    @Test func nothingIsSentIfHTTP2IsDemandedAndNotAgreedOn() async throws {
        let world = try SecureWorld()
        let outcome = await world.run.perform(try world.options(.http2Only))
        #expect(outcome.end?.failure?.kind == .http2NotAgreed)
        try await world.server.waitUntilAllClosed()
        #expect(world.server.requests.isEmpty && world.server.acceptedCount == 1)
        await world.run.finish()
    }

    @Test func theReportHasWhatTheHandshakeHasAgreedOn() async throws {
        let world = try SecureWorld { connection in
            let peer = RawHTTP2(connection: connection)
            try connection.write(Self.answer(try peer.readRequest()))
            while true { try connection.write(Self.answer(try peer.readFurtherRequest())) }
        }
        for isReused in [false, true] {
            let outcome = await world.run.perform(try world.options(.http2PriorKnowledge))
            let report = outcome.end?.report
            #expect(outcome.text == "good" && report?.isReusedConnection == isReused)
            #expect(report?.tlsResult?.value.version != nil)
        }
        await world.run.finish()
    }
}
