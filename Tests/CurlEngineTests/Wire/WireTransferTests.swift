import CCurl
import Dispatch
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine

/// HTTP/1.1 with the servers of plain URLs.
@Suite(.timeLimit(.minutes(3)))
struct WireTransferTests {
    private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

    private static func run(_ change: (inout EngineConfiguration) -> Void = { _ in }) -> EngineRun {
        var configuration = EngineConfiguration()
        change(&configuration)
        return EngineRun(configuration)
    }

    /// Returns a server that answers each request with a text, on connections that it keeps.
    private static func server(_ text: String) throws -> LoopbackServer {
        try LoopbackServer { connection in
            while try connection.nextRequest() != nil { try connection.write(text) }
        }
    }

    @Test func requestsToOneOriginShareAConnection() async throws {
        let server = try Self.server(Self.good)
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        let first = await run.perform(get), second = await run.perform(get)
        #expect(first.text == "good" && second.text == "good")
        #expect(first.end?.report.isReusedConnection == false && second.end?.report.isReusedConnection == true)
        #expect(server.acceptedCount == 1)
        let wired = await run.onEngine { run.engine.wire.openCount }
        let open = await run.onEngine { run.engine.openSocketCount }
        #expect(wired == 1 && open == 1)
        await run.finish()
    }

    @Test func connectionsMayBeKeptForEver() async throws {
        let server = try Self.server(Self.good)
        let run = Self.run { ($0.idleLifetimeSeconds, $0.maximumLifetimeSeconds) = (.max, .max) }
        for _ in 1...2 { #expect(await run.perform(try EngineRun.get(server.url("/"))).text == "good") }
        #expect(server.acceptedCount == 1)
        await run.finish()
    }

    @Test func theMeasurementsAreThoseOfTheConnection() async throws {
        let server = try Self.server(Self.good)
        let run = Self.run()
        let report = await run.perform(try EngineRun.get(server.url("/path"))).end?.report
        let measured = try #require(report)
        #expect(
            measured.peerAddress == "127.0.0.1" && measured.nameLookup > 0 && measured.connect >= measured.nameLookup)
        #expect(measured.firstByte >= measured.connect && measured.tls == 0)
        #expect(measured.bytesReceived == Int64(Self.good.utf8.count))
        await run.finish()
    }

    @Test func aChunkedBodyHasTrailers() async throws {
        let server = try Self.server(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ngo\r\n2;a=b\r\nod\r\n0\r\nX-Last: 1\r\n\r\n")
        let run = Self.run()
        let outcome = await run.perform(try EngineRun.get(server.url("/")))
        #expect(outcome.text == "good" && outcome.end?.failure == nil)
        #expect(outcome.end?.trailers.values(of: "x-last") == [Array("1".utf8)])
        await run.finish()
    }

    @Test func aBodyWithoutALengthEndsWithItsConnection() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\n\r\ngood")
        }
        let run = Self.run()
        let outcome = await run.perform(try EngineRun.get(server.url("/")))
        #expect(outcome.text == "good" && outcome.end?.failure == nil)
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngood",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n",
    ])
    func aBodyThatEndsEarlyIsCutShort(_ text: String) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(text)
        }
        let run = Self.run()
        #expect(await run.perform(try EngineRun.get(server.url("/"))).end?.failure?.kind == .bodyCutShort)
        await run.finish()
    }

    @Test(arguments: [
        ("", EngineFailure.Kind.emptyReply), ("HTTP/1.1 200 O", .receive),
        ("SSH-2.0\r\n", .head(.badStatusLine("SSH-2.0"))),
    ])
    func aConnectionWithoutAHeadFails(_ text: String, _ kind: EngineFailure.Kind) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(text)
        }
        let run = Self.run()
        #expect(await run.perform(try EngineRun.get(server.url("/"))).end?.failure?.kind == kind)
        await run.finish()
    }

    /// A GET goes again on a new connection if its idle one ends without an answer, and a POST does not.
    @Test func aRequestOnADeadConnectionGoesAgainIfItMay() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(Self.good)
            _ = try connection.nextRequest()
        }
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        #expect(await run.perform(get).text == "good")
        let again = await run.perform(get)
        #expect(again.text == "good" && again.end?.report.isReusedConnection == false)
        let post = await run.perform(try EngineRun.post(server.url("/"), "once"))
        #expect(post.end?.failure?.kind == .replayRefused)
        #expect(server.acceptedCount == 2)
        await run.finish()
    }

    /// A connection is not used from a moment before the time at which its server closes it.
    @Test(arguments: [
        ("timeout=5", 3999, true), ("timeout=5", 4000, false), ("timeout=1", 499, true), ("timeout=1", 500, false),
        ("timeout=0", 0, false), ("max=10", 30_000, true),
    ])
    func aConnectionIsKeptAsLongAsItsServerSays(_ field: String, _ milliseconds: Int, _ isKept: Bool) async throws {
        let server = try Self.server("HTTP/1.1 200 OK\r\nKeep-Alive: \(field)\r\nContent-Length: 4\r\n\r\ngood")
        let clock = TestClock()
        let run = EngineRun(clock: clock.engineSide)
        let get = try EngineRun.get(server.url("/"))
        #expect(await run.perform(get).text == "good")
        clock.move(by: .milliseconds(milliseconds))
        #expect(await run.perform(get).end?.report.isReusedConnection == isKept)
        await run.finish()
    }

    /// A source without bytes does not hide the end of the connection.
    @Test func aLostConnectionEndsARequestWhoseBodyIsQuiet() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            // The only chunk, so that no reset follows.
            _ = try connection.read(exactly: 13)
        }
        let run = Self.run()
        let post = TransferOptions(
            url: try WireURL(parsing: server.url("/")), method: "POST", body: .stream(length: nil), version: .http1)
        #expect(await run.perform(post, endsBody: false).end?.failure?.kind == .emptyReply)
        await run.finish()
    }

    /// A server may tell with a 408 that it has closed an idle connection. A GET that has crossed that on its way goes again on a new one, and
    /// a POST does not.
    @Test func aTimeoutOfAnIdleConnectionIsNoResponseToAGet() async throws {
        let timeout = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(connection.ordinal < 3 ? Self.good : timeout)
            if try connection.nextRequest() != nil { try connection.write(timeout) }
        }
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        #expect(await run.perform(get).text == "good")
        let again = await run.perform(get)
        #expect(again.text == "good" && again.head?.status == 200 && again.end?.report.isReusedConnection == false)
        let post = await run.perform(try EngineRun.post(server.url("/"), "once"))
        #expect(post.head?.status == 408 && post.end?.failure == nil)
        // On a new connection, it is the response.
        #expect(await run.perform(get).head?.status == 408)
        #expect(server.acceptedCount == 3)
        await run.finish()
    }

    /// A GET whose idle connection is dead, and which may make no other one, has reached its limit on connecting.
    @Test func aRequestThatMayNotConnectFailsAtItsLimit() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(Self.good)
            _ = try connection.nextRequest()
        }
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        _ = await run.perform(get)
        let limited = TransferOptions(
            url: get.url, method: "GET", version: .http1, mayBeReplayed: true, connectLimit: 0)
        #expect(await run.perform(limited).end?.failure?.kind == .connectLimit)
        await run.finish()
    }

    /// A POST starts again only if the system has taken nothing of it: what fails then is the new connection.
    @Test func aRequestOfWhichNothingWasSentFailsLikeANewOne() async throws {
        let run = Self.run()
        let options = TransferOptions(
            url: try WireURL(parsing: "http://a.invalid/"), method: "POST", body: .bytes([1]), version: .http1,
            connectLimit: 0)
        let kind = await withContinuation { continuation in
            run.executor.submit {
                let delegate = EngineRun.Outcome(whenEnded: { continuation.resume(returning: $0.end?.failure?.kind) })
                let transfer = run.engine.makeTransfer(options)
                transfer.connection.wire.needsConnection = true
                run.engine.start(transfer, delegate: delegate)
            }
        }
        #expect(kind == .connectLimit)
        await run.finish()
    }

    /// The steps of a transfer that starts again, without a descriptor, count from its second start.
    @Test func measurementsCountFromTheLastStart() async throws {
        let run = Self.run()
        let get = try EngineRun.get("http://192.0.2.1/")
        let report = await run.onEngine {
            let transfer = run.engine.makeTransfer(get)
            (transfer.wire.start, transfer.wire.lookedUp) = (2_000_000, 1_000_000)
            return transfer.measurements
        }
        #expect(report.nameLookup == 1 && report.connect == 0)
        await run.finish()
    }

    @Test func bytesOnAnIdleConnectionCloseIt() async throws {
        let isWritten = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(Self.good)
            guard connection.ordinal == 1 else { return }
            connection.waitUntilReceived()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            connection.waitUntilReceived()
            isWritten.open()
            _ = try connection.readToEnd()
        }
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        #expect(await run.perform(get).text == "good")
        try await isWritten.opened()
        #expect(await run.perform(get).text == "good")
        #expect(server.acceptedCount == 2)
        await run.finish()
    }

    /// The server gives up its idle connection after that was looked at, and before the request is sent.
    @Test func aResponseToNoRequestIsNoneToTheNextOne() async throws {
        let isTaken = LoopbackServer.Gate(), isReset = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write(Self.good)
            guard connection.ordinal == 1 else { return }
            try connection.wait(for: isTaken)
            try connection.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            connection.waitUntilReceived()
            connection.reset()
            isReset.signal()
        }
        let run = Self.run()
        _ = await run.perform(try EngineRun.get(server.url("/")))
        let post = try EngineRun.post(server.url("/"), "once")
        let outcome = await run.perform(post) {
            isTaken.open()
            isReset.wait()
        }
        #expect(outcome.head?.status == 200 && outcome.text == "good")
        await run.finish()
    }

    @Test func bytesAfterTheAnswerCloseTheConnection() async throws {
        let server = try Self.server(Self.good + "EXTRA")
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        let texts = (await run.perform(get).text, await run.perform(get).text)
        #expect(texts == ("good", "good"))
        #expect(server.acceptedCount == 2)
        await run.finish()
    }

    @Test(arguments: [Int64(8), nil])
    func aStreamedBodyIsSent(_ length: Int64?) async throws {
        let server = try Self.server(Self.good)
        let run = Self.run()
        let url = try WireURL(parsing: server.url("/"))
        let put = TransferOptions(url: url, method: "PUT", body: .stream(length: length), version: .http1)
        for _ in 1...2 { #expect(await run.perform(put).text == "good") }
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["streamed", "streamed"])
        #expect(server.acceptedCount == 1)
        await run.finish()
    }

    /// A body of another length than the one announced would be read together with the next request.
    @Test(arguments: [Int64(7), 9])
    func aBodyOfAnotherLengthEndsTheConnection(_ length: Int64) async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            _ = try connection.readToEnd()
        }
        let run = Self.run()
        let url = try WireURL(parsing: server.url("/"))
        let put = TransferOptions(url: url, method: "PUT", body: .stream(length: length), version: .http1)
        #expect(await run.perform(put).end?.failure?.kind == .internalError)
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        await run.finish()
    }

    /// The source of a body whose length is known has announced no end when the response comes.
    @Test func aBodyIsCompleteWithItsLastByte() async throws {
        let server = try Self.server(Self.good)
        let run = Self.run()
        let url = try WireURL(parsing: server.url("/"))
        let put = TransferOptions(url: url, method: "PUT", body: .stream(length: 8), version: .http1)
        for _ in 1...2 { #expect(await run.perform(put, endsBody: false).text == "good") }
        #expect(server.acceptedCount == 1)
        await run.finish()
    }

    @Test func aBodyInMemoryWaitsForNoPermission() async throws {
        let server = try Self.server(Self.good)
        let run = Self.run()
        let url = try WireURL(parsing: server.url("/"))
        let lines = HeaderLines(line: "Expect: 100-continue")
        let put = TransferOptions(
            url: url, method: "PUT", headerLines: lines, body: .bytes(Array("body".utf8)), version: .http1)
        #expect(await run.perform(put).text == "good")
        await run.finish()
    }

    /// A body that takes several turns of the loop is sent completely.
    @Test(arguments: [Int64(8 << 20), nil])
    func aLargeBodyIsSentInSeveralTurns(_ length: Int64?) async throws {
        let server = try Self.server(Self.good)
        let run = Self.run()
        let url = try WireURL(parsing: server.url("/"))
        let put = TransferOptions(url: url, method: "PUT", body: .stream(length: length), version: .http1)
        #expect(await run.perform(put, sending: Data(repeating: 7, count: 8 << 20)).text == "good")
        #expect(server.requests.map(\.body.count) == [8 << 20])
        await run.finish()
    }

    /// The socket is ready for both directions in one turn: the response is read before more of the body is sent.
    @Test func anEarlyResponseEndsTheSending() async throws {
        let isFull = LoopbackServer.Gate(), isAnswered = DispatchSemaphore(value: 0), passed = Locked(Int64(0))
        let server = try LoopbackServer { connection in
            guard let head = try connection.readHead() else { return }
            try connection.wait(for: isFull)
            try connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
            _ = try connection.read(exactly: Int(passed.withLock { $0 }) - head.headBytes.count)
            connection.waitUntilReceived()
            isAnswered.signal()
            _ = try connection.readToEnd()
        }
        let run = Self.run()
        let url = try WireURL(parsing: server.url("/"))
        let put = TransferOptions(url: url, method: "PUT", body: .stream(length: 64 << 20), version: .http1)
        let ended = AsyncStream<TransferReport?>.makeStream()
        let outcome = EngineRun.Outcome(whenEnded: { ended.continuation.yield($0.end?.report) })
        outcome.streamed = Data(count: 64 << 20)
        await run.onEngine { run.start(put, outcome) }
        let isSending: @Sendable () -> Bool = { outcome.transfer?.wire.connection?.interest.contains(.write) == true }
        while !Task.isCancelled, await !run.onEngine(isSending) { await Task.yield() }
        let before = await run.onEngine { () -> Int64? in
            // The engine thread looks at its sockets again when the response is there, and the server has room.
            let count = outcome.transfer?.wire.connection?.outgoing.sentCount ?? 0
            passed.withLock { $0 = count }
            isFull.open()
            isAnswered.wait()
            return count
        }
        let report = await ended.stream.first { _ in true } ?? nil
        #expect(report?.bytesSent == before)
        await run.finish()
    }

    /// The server resets the connection while it sends a body without a length, and the next part of the request finds that first.
    @Test func aResetDuringAnUploadIsNoEndOfABody() async throws {
        let isFull = LoopbackServer.Gate(), isReset = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.wait(for: isFull)
            try connection.write("HTTP/1.1 200 OK\r\n\r\ngood")
            connection.waitUntilReceived()
            connection.reset()
            isReset.signal()
        }
        let run = Self.run()
        let url = try WireURL(parsing: server.url("/"))
        let body = [UInt8](repeating: 0, count: 64 << 20)
        let put = TransferOptions(url: url, method: "PUT", body: .bytes(body), version: .http1)
        let ended = AsyncStream<EngineFailure.Kind?>.makeStream()
        let outcome = EngineRun.Outcome(whenEnded: { ended.continuation.yield($0.end?.failure?.kind) })
        await run.onEngine { run.start(put, outcome) }
        let isSending: @Sendable () -> Bool = { outcome.transfer?.wire.connection?.interest.contains(.write) == true }
        while !Task.isCancelled, await !run.onEngine(isSending) { await Task.yield() }
        await run.onEngine {
            // The engine thread looks at its sockets again when the response is there, and the reset behind it.
            isFull.open()
            isReset.wait()
        }
        let kind = await ended.stream.first { _ in true } ?? nil
        #expect(kind == .send)
        await run.finish()
    }

    @Test func anIdleConnectionIsClosedOnRequest() async throws {
        let server = try Self.server(Self.good)
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        _ = await run.perform(get)
        await run.onEngine { run.engine.closeIdleConnections(to: get.pool) }
        #expect(await run.onEngine { run.engine.openSocketCount } == 0)
        try await server.waitUntilClosed(count: 1)
        await run.finish()
    }

    @Test func theLimitOnConnectionsClosesTheOldestIdleOne() async throws {
        let servers = try (1...3).map { _ in try Self.server(Self.good) }
        let run = Self.run { $0.maximumConnections = 2 }
        for server in servers { _ = await run.perform(try EngineRun.get(server.url("/"))) }
        #expect(await run.onEngine { run.engine.openSocketCount } == 2)
        try await servers[0].waitUntilClosed(count: 1)
        await run.finish()
    }

    @Test func aServerThatRefusesIsUnreachable() async throws {
        let run = Self.run()
        #expect(await run.perform(try EngineRun.get(ClosedPort().url())).end?.failure?.kind == .connect)
        await run.finish()
    }

    @Test func aCancelledTransferClosesItsConnection() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            _ = try connection.readToEnd()
        }
        let run = Self.run()
        let get = try EngineRun.get(server.url("/"))
        let transfer = await run.onEngine { run.engine.start(get, delegate: EngineRun.Outcome()) }
        try await server.waitUntilRequested(count: 1)
        await run.onEngine { transfer.cancel() }
        try await server.waitUntilAllClosed()
        #expect(await run.onEngine { run.engine.isBusy } == false)
        await run.finish()
    }

    @Test func theAddressesOfBothVersionsTakeTurns() {
        let addresses = ["::1", "::2", "::3", "10.0.0.1", "10.0.0.2"].compactMap { IPAddress($0) }
        #expect(WireRace.interleaved(addresses).map(\.description) == ["::1", "10.0.0.1", "::2", "10.0.0.2", "::3"])
        #expect(WireRace.interleaved([]).isEmpty)
    }
}
