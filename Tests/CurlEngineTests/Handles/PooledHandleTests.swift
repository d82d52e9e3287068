import Testing
@_spi(Transport) import TrellisTesting

@testable import CurlEngine

/// A transfer gets nothing of the transfer before it on the same handle of libcurl.
@Suite(.timeLimit(.minutes(3)))
struct PooledHandleTests {
    private static let defaults: HeaderLines = lines("x-default", "yes")

    private static func lines(_ name: String, _ value: String) -> HeaderLines {
        var lines = HeaderLines()
        _ = lines.append(name: name, value: value)
        return lines
    }

    /// The header lines of a transfer, if any, apply only to that transfer.
    @Test(arguments: [HeaderLines(), lines("x-own", "yes")])
    func theDefaultLinesComeBackAfterATransferWithLinesOfItsOwn(_ own: HeaderLines) async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        var configuration = EngineConfiguration.onLibcurl
        configuration.defaultHeaderLines = Self.defaults
        let run = EngineRun(configuration)
        let url = try WireURL(parsing: server.url())
        func get(_ lines: HeaderLines?) -> TransferOptions {
            // The automatic version needs no reset of the handle.
            TransferOptions(url: url, method: "GET", headerLines: lines)
        }
        #expect(await run.perform(get(nil)).text == "hello")
        #expect(await run.perform(get(own)).text == "hello")
        #expect(await run.perform(get(nil)).text == "hello")
        #expect(server.requests.map { $0["x-default"] != nil } == [true, false, true])
        await run.finish()
    }

    /// Lines that are the last transfer's are not set again, and other lines replace them.
    @Test func everyTransferHasItsOwnLines() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let url = try WireURL(parsing: server.url())
        let run = EngineRun(.onLibcurl)
        let values: [String?] = ["1", "1", "2", nil, "2", "1"]
        for value in values {
            let lines = value.map { Self.lines("x-own", $0) }
            let text = await run.perform(TransferOptions(url: url, method: "GET", headerLines: lines)).text
            #expect(text == "hello")
        }
        #expect(server.requests.map { $0["x-own"] } == values)
        await run.finish()
    }

    /// There may be hundreds of handles without a transfer.
    @Test(arguments: [(100, true), (5_000, false)])
    func longHeaderLinesAreReleasedAfterTheirTransfer(_ length: Int, _ areKept: Bool) async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let run = EngineRun(.onLibcurl)
        let value = String(repeating: "a", count: length)
        let options = TransferOptions(
            url: try WireURL(parsing: server.url()), method: "GET", headerLines: Self.lines("x-own", value))
        for _ in 1...2 {
            #expect(await run.perform(options).text == "hello")
            let sizes = await run.keptHeaderBytes
            #expect(sizes.map { $0 > 0 } == [areKept])
        }
        #expect(server.requests.map { $0["x-own"] } == [value, value])
        await run.finish()
    }

    /// Sends a request to a server that has received none, and cancels it there.
    private static func cancel(_ options: TransferOptions, at server: LoopbackServer, _ run: EngineRun) async throws {
        let outcome = EngineRun.Outcome()
        await run.onEngine { run.start(options, outcome) }
        try await server.waitUntilRequested(count: 1)
        await run.onEngine {
            outcome.transfer?.cancel()
            outcome.transfer = nil
        }
        // The transfer is removed with the next changes.
        for _ in 0..<4 { await run.onEngine {} }
    }

    @Test(arguments: [nil, HeaderLines(), lines("x-own", "yes")] as [HeaderLines?])
    func theLinesOfACancelledRequestAreNotThoseOfTheNextOne(_ next: HeaderLines?) async throws {
        let server = try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                if request.path == "/held" { try connection.wait(for: LoopbackServer.Gate()) }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            }
        }
        let run = EngineRun(.onLibcurl)
        func get(_ path: String, _ lines: HeaderLines?) throws -> TransferOptions {
            TransferOptions(url: try WireURL(parsing: server.url(path)), method: "GET", headerLines: lines)
        }
        try await Self.cancel(get("/held", Self.lines("authorization", "Bearer a")), at: server, run)
        #expect(await run.perform(try get("/", next)).text == "hello")
        #expect(server.requests.map { $0["authorization"] } == ["Bearer a", nil])
        #expect(server.requests.last?["x-own"] == (next?.count == 1 ? "yes" : nil))
        await run.finish()
    }

    /// libcurl begins to send a request again when its connection ends before the response. The handle then has a mark, because of which
    /// libcurl rewinds a body before the next request, even if that is one of another transfer.
    @Test(arguments: [false, true])
    func aHandleThatMayHaveBegunARepetitionIsNotUsedAgain(_ hasBody: Bool) async throws {
        let server = try LoopbackServer { connection in
            while try connection.nextRequest() != nil { try connection.wait(for: LoopbackServer.Gate()) }
        }
        let run = EngineRun(.onLibcurl)
        let options = TransferOptions(
            url: try WireURL(parsing: server.url()), method: hasBody ? "PUT" : "GET",
            body: hasBody ? .bytes([1, 2]) : .none, mayBeReplayed: true)
        try await Self.cancel(options, at: server, run)
        let unused = await run.keptHeaderBytes
        #expect(unused.count == (hasBody ? 0 : 1))
        await run.finish()
    }

    /// A handle keeps the peer of its last connection, which is reported only for transfers that have that peer.
    @Test func everyTransferReportsItsOwnPeer() async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer.http { _ in .text("hello") } }
        let run = EngineRun(.onLibcurl)
        for server in [servers[0], servers[1], servers[1], servers[0]] {
            let report = try #require(await run.perform(EngineRun.get(server.url())).end?.report)
            #expect(report.peerAddress == "127.0.0.1")
            #expect(report.peerPort == server.port)
        }
        // Nothing listens on the port of a server that has ended.
        let port = servers[0].port
        servers[0].stop()
        let refused = try #require(await run.perform(EngineRun.get("http://127.0.0.1:\(port)/")).end)
        #expect(refused.failure != nil)
        #expect(refused.report.peerPort != servers[1].port)
        await run.finish()
    }

    /// A request has the same bytes on the wire after a request of another kind as on a new handle.
    @Test func noRequestLooksLikeTheOneBeforeIt() async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let url = try WireURL(parsing: server.url("/x"))
        let kinds = [
            TransferOptions(url: url, method: "GET"),
            TransferOptions(url: url, method: "GET", headerLines: HeaderLines(), receiveBufferSize: 256 << 10),
            TransferOptions(url: url, method: "GET", headerLines: Self.lines("x-own", "yes"), version: .http1),
            TransferOptions(url: url, method: "HEAD"),
            TransferOptions(url: url, method: "DELETE"),
            TransferOptions(url: url, method: "POST", body: .bytes([])),
            TransferOptions(url: url, method: "POST", body: .bytes([1, 2, 3])),
            TransferOptions(url: url, method: "PATCH", headerLines: HeaderLines(), body: .bytes([1])),
            TransferOptions(url: url, method: "PUT", body: .stream(length: 8)),
            TransferOptions(
                url: url, method: "POST", headerLines: Self.lines("x-own", "yes"), body: .stream(length: nil)),
        ]
        var configuration = EngineConfiguration.onLibcurl
        configuration.defaultHeaderLines = Self.defaults
        var wanted: [LoopbackServer.ReceivedRequest] = []
        for kind in kinds {
            let run = EngineRun(configuration)
            _ = await run.perform(kind)
            wanted.append(try #require(server.requests.last))
            await run.finish()
        }
        let run = EngineRun(configuration)
        for (index, kind) in kinds.enumerated() {
            for before in kinds {
                _ = await run.perform(before)
                let end = await run.perform(kind).end
                let request = try #require(server.requests.last)
                #expect(end.map { $0.failure == nil } == true)
                #expect(request.headBytes == wanted[index].headBytes, "\(kind.method) after \(before.method)")
                #expect(request.body == wanted[index].body, "\(kind.method) after \(before.method)")
            }
        }
        await run.finish()
    }

    /// The error number of a transfer does not explain the failure of the next transfer.
    @Test func aFailureIsNotExplainedByTheOneBeforeIt() async throws {
        let server = try LoopbackServer { connection in
            _ = try connection.nextRequest()
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n")
            _ = try connection.readToEnd()
        }
        let closed = try LoopbackServer { _ in }
        closed.stop()
        let run = EngineRun(.onLibcurl)
        #expect(await run.perform(try EngineRun.get(closed.url())).end?.failure?.kind == .connect)
        #expect(await run.perform(try EngineRun.get(server.url())).end?.failure?.kind == .malformedResponse)
        await run.finish()
    }
}

extension EngineRun {
    /// The size of the header lines of each handle without a transfer, in bytes.
    var keptHeaderBytes: [Int] {
        get async { await onEngine { engine.multi?.unusedHandles.map { $0.keptHeaderBytes } ?? [] } }
    }
}
