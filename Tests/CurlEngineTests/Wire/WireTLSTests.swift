import FoundationEssentials
import Testing
import TrellisTesting

@testable import CurlEngine

/// HTTP/1.1 over TLS, after handshakes that libcurl has made by the rules of the transfer.
@Suite(.timeLimit(.minutes(3)))
struct WireTLSTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    /// A server, and an engine whose transfers trust it.
    private struct World {
        let server: LoopbackServer
        let run: EngineRun
        let trust: TransferTrust

        init(
            _ tls: LoopbackServer.TLS? = nil, rules change: (inout TransferTrust.Rules) -> Void = { _ in },
            _ script: @escaping LoopbackServer.Script
        ) throws {
            let tls = try tls ?? LoopbackServer.TLS()
            server = try LoopbackServer(tls: tls, script: script)
            run = EngineRun()
            var rules = TransferTrust.Rules()
            rules.authorities = .pem([UInt8](tls.authority.certificate.utf8), withSystem: false)
            change(&rules)
            trust = TransferTrust(server: rules, proxy: TransferTrust.Rules(), number: 1)
        }

        /// Creates a world whose server answers each request with a text, on connections that it keeps.
        init(answering text: String, rules change: (inout TransferTrust.Rules) -> Void = { _ in }) throws {
            try self.init(rules: change) { connection in
                while try connection.nextRequest() != nil { try connection.write(text) }
            }
        }

        func options(
            _ method: String = "GET", body: TransferOptions.Body = .none, readsCertificates: Bool = false
        ) throws -> TransferOptions {
            TransferOptions(
                url: try WireURL(parsing: server.url("/")), trust: trust, method: method, body: body, version: .http1,
                mayBeReplayed: method == "GET", readsCertificates: readsCertificates)
        }

        func get() async throws -> EngineRun.Outcome { await run.perform(try options()) }

        /// Waits until the engine has no socket any more.
        func waitUntilClosed() async throws {
            while await run.onEngine({ run.engine.openSocketCount }) > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test(arguments: [nil, TransferTrust.Version.v1_2])
    func requestsToOneOriginShareAConnection(_ version: TransferTrust.Version?) async throws {
        let world = try World(answering: Self.good) { $0.maximumVersion = version }
        let first = try await world.get(), second = try await world.get(), third = try await world.get()
        #expect(first.text == "good" && second.text == "good" && third.text == "good")
        let report = try #require(first.end?.report)
        #expect(report.tls >= report.connect && report.connect > 0 && report.firstByte >= report.tls)
        #expect(report.peerAddress == "127.0.0.1" && !report.isReusedConnection)
        #expect(second.end?.report.isReusedConnection == true && second.end?.report.tls == 0)
        for outcome in [first, second] {
            let result = try #require(outcome.end?.report.tlsResult?.value)
            #expect(result.version == version ?? .v1_3 && result.cipherSuite?.isEmpty == false)
        }
        #expect(world.server.acceptedCount == 1)
        let run = world.run
        #expect(await run.onEngine { (run.engine.wire.openCount, run.engine.openSocketCount) == (1, 1) })
        await run.finish()
        try await world.server.waitUntilAllClosed()
    }

    @Test func libcurlItselfSendsNothingButHTTP3() throws {
        func isForWire(_ version: TransferOptions.Version) throws -> Bool {
            TransferOptions(url: try WireURL(parsing: "https://a.example/"), method: "GET", version: version).isForWire
        }
        let versions: [TransferOptions.Version] = [.http1, .http2OverTLS, .http2Only, .http2PriorKnowledge]
        #expect(try versions.allSatisfy(isForWire))
        #expect(try !isForWire(.http3Only))
    }

    @Test func nothingIsSentToAServerThatIsNotTrusted() async throws {
        let world = try World(answering: Self.good) { $0.authorities = .system }
        let failure = try await world.get().end?.failure
        guard case .untrusted(.some)? = failure?.kind else {
            Issue.record("\(String(describing: failure))")
            return
        }
        try await world.server.waitUntilAllClosed()
        #expect(world.server.requests.isEmpty && world.server.handshakeFailures.count == 1)
        try await world.waitUntilClosed()
        await world.run.finish()
    }

    /// A delegate that accepts no certificates, and stores their numbers.
    private final class Distrust: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        var transfer: Transfer?
        private let whenAsked: (Int, Int) -> Void

        init(_ whenAsked: @escaping (Int, Int) -> Void) { self.whenAsked = whenAsked }

        func transferDidReceiveCertificates(_ chain: CertificateChain?) {
            transfer?.cancel()
            transfer = nil
            whenAsked(chain?.validated.count ?? -1, chain?.sent.count ?? -1)
        }
        func transferIsConnected() { Issue.record("the transfer is connected") }
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {}
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) { Issue.record("the transfer has ended") }
    }

    @Test func nothingIsSentBeforeTheDelegateAcceptsTheCertificates() async throws {
        let world = try World(answering: Self.good)
        let options = try world.options(readsCertificates: true), run = world.run
        let counts = await withContinuation { continuation in
            run.executor.submit {
                let delegate = Distrust { continuation.resume(returning: ($0, $1)) }
                let transfer = run.engine.makeTransfer(options)
                delegate.transfer = transfer
                run.engine.start(transfer, delegate: delegate)
            }
        }
        #expect(counts == (2, 1))
        try await world.server.waitUntilAllClosed()
        #expect(world.server.requests.isEmpty && world.server.acceptedCount == 1)
        try await world.waitUntilClosed()
        await run.finish()
    }

    @Test func aServerThatRequiresACertificateSaysSo() async throws {
        var tls = try LoopbackServer.TLS()
        tls.requiresClientCertificate = true
        let world = try World(tls, rules: { $0.maximumVersion = .v1_2 }) { _ in }
        let failure = try await world.get().end?.failure
        guard case .clientCertificate(.required, _, .server)? = failure?.kind else {
            Issue.record("\(String(describing: failure))")
            return
        }
        await world.run.finish()
    }

    // MARK: Ends

    /// The ends of a connection, as the server makes them.
    enum End: CaseIterable {
        case announced, silent, reset
    }

    private static func outcome(_ text: String, _ end: End) async throws -> EngineRun.Outcome {
        let world = try World { connection in
            _ = try connection.nextRequest()
            try connection.write(text)
            switch end {
            case .announced: connection.shutdownWrite()
            case .silent: connection.shutdownWrite(notifying: false)
            case .reset: connection.reset()
            }
        }
        let outcome = await world.run.perform(
            try TransferOptions(
                url: WireURL(parsing: world.server.url("/")), trust: world.trust, method: "GET", version: .http1))
        try await world.waitUntilClosed()
        await world.run.finish()
        return outcome
    }

    @Test(arguments: End.allCases)
    func onlyAnAnnouncedEndIsTheEndOfABodyWithoutALength(_ end: End) async throws {
        let outcome = try await Self.outcome("HTTP/1.1 200 OK\r\n\r\ngood", end)
        switch end {
        case .announced: #expect(outcome.text == "good" && outcome.end?.failure == nil)
        case .silent: #expect(outcome.end?.failure?.kind == .bodyCutShort)
        case .reset: #expect(outcome.end?.failure != nil)
        }
    }

    @Test(arguments: End.allCases)
    func aBodyWithALengthIsCutShortByEachEnd(_ end: End) async throws {
        let outcome = try await Self.outcome("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngood", end)
        let kind = outcome.end?.failure?.kind
        #expect(end == .reset ? kind != nil : kind == .bodyCutShort)
    }

    @Test(arguments: End.allCases)
    func aHeadIsCutShortByEachEnd(_ end: End) async throws {
        let kind = try await Self.outcome("HTTP/1.1 200 OK\r\nContent-Len", end).end?.failure?.kind
        #expect(kind == .receive)
    }

    /// The server ends each connection after the handshake, while libcurl makes others.
    @Test func aServerThatOnlyMakesHandshakes() async throws {
        let world = try World { connection in connection.reset() }
        let options = try world.options(readsCertificates: true), run = world.run
        let kinds = await withTaskGroup(of: EngineFailure.Kind?.self) { group in
            for _ in 0..<40 { group.addTask { await run.perform(options).end?.failure?.kind } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(kinds.count == 40 && !kinds.contains(nil))
        try await world.waitUntilClosed()
        await run.finish()
    }

    /// Messages of TLS without content may arrive without end. Other requests go on.
    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"])
    func endlessKeyUpdatesKeepNoOtherRequest(_ head: String) async throws {
        let isOver = LoopbackServer.Gate()
        let world = try World { connection in
            _ = try connection.nextRequest()
            // What waits in buffers is read after the end of the flood.
            connection.limitSendBuffer(to: 64 << 10)
            try connection.write(head)
            repeat { try connection.updateKey(times: 1000) } while !isOver.isOpen
            try connection.write(head.isEmpty ? Self.good : "good")
        }
        let other = try LoopbackServer.http { _ in .text("other") }
        let options = try world.options(), run = world.run
        async let flooded = run.perform(options)
        try await world.server.waitUntilRequested(count: 1)
        for _ in 1...20 { #expect(try await run.perform(EngineRun.get(other.url("/"))).text == "other") }
        isOver.open()
        #expect(await flooded.text == "good")
        await run.finish()
    }

    /// Each record costs work, however few bytes it has.
    @Test func aBodyInRecordsOfOneByteArrives() async throws {
        let world = try World { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
            for _ in 0..<5000 { try connection.write("x") }
        }
        #expect(try await world.get().body.count == 5000)
        await world.run.finish()
    }

    @Test func anAnswerIsReceivedAfterTheUploadHasFailed() async throws {
        let world = try World { connection in
            // The second request finds a session that was taken over from libcurl.
            _ = try connection.nextRequest()
            try connection.write(Self.good)
            _ = try connection.readHead()
            try connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            connection.waitUntilReceived()
            connection.close()
        }
        #expect(try await world.get().text == "good")
        let options = try world.options("PUT", body: .stream(length: 16 << 20))
        let outcome = await world.run.perform(options, sending: Data(count: 16 << 20))
        #expect(outcome.text == "big" && outcome.head?.status == 413 && outcome.end?.failure == nil)
        await world.run.finish()
    }

    @Test(arguments: End.allCases)
    func anEndWithoutAResponseIsNoResponse(_ end: End) async throws {
        let kind = try await Self.outcome("", end).end?.failure?.kind
        #expect(end == .reset ? kind != nil : kind == .emptyReply)
    }

    @Test(arguments: End.allCases)
    func anIdleConnectionThatEndsIsClosed(_ end: End) async throws {
        let world = try World { connection in
            _ = try connection.nextRequest()
            try connection.write(Self.good)
            switch end {
            case .announced: connection.shutdownWrite()
            case .silent: connection.shutdownWrite(notifying: false)
            case .reset: connection.reset()
            }
        }
        #expect(try await world.get().text == "good")
        try await world.waitUntilClosed()
        await world.run.finish()
    }

    // MARK: Bodies

    @Test func largeBodiesPassInBothDirections() async throws {
        let size = 3_000_000
        let world = try World { connection in
            while let request = try connection.nextRequest() {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n")
                try connection.write(request.body)
            }
        }
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) })
        for _ in 1...2 {
            let options = try world.options("PUT", body: .stream(length: Int64(size)))
            let outcome = await world.run.perform(options, sending: body)
            #expect(outcome.end?.failure == nil && outcome.body == [UInt8](body))
        }
        #expect(world.server.acceptedCount == 1)
        await world.run.finish()
    }

    @Test func aPausedBodyGoesOnWithTheBytesThatTLSHasReceived() async throws {
        let size = 200_000
        let world = try World { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            try connection.write(Data(count: size))
        }
        let options = try world.options(), run = world.run
        let count = await withContinuation { continuation in
            run.executor.submit {
                let delegate = Halting { continuation.resume(returning: $0) }
                let transfer = run.engine.makeTransfer(options)
                delegate.transfer = transfer
                run.engine.start(transfer, delegate: delegate)
            }
        }
        #expect(count == size)
        await run.finish()
    }

    /// A delegate that pauses receiving after each piece, until the next turn of the loop.
    private final class Halting: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread.
        var transfer: Transfer?
        private var count = 0
        private let whenEnded: (Int) -> Void

        init(_ whenEnded: @escaping (Int) -> Void) { self.whenEnded = whenEnded }

        func transferIsConnected() {}
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) {}
        func transferDidReceiveBody(_ bytes: RawSpan) {
            count += bytes.byteCount
            guard let transfer else { return }
            transfer.pauseReceiving(true)
            transfer.engine.submit { transfer.pauseReceiving(false) }
        }
        func transferNeedsBody() {}
        func transferDidEnd(_ end: TransferEnd) {
            transfer = nil
            whenEnded(end.failure == nil ? count : -1)
        }
    }
}
