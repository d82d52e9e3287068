import Foundation
import Testing

/// The reverse proxy `trellis gateway`. Peers that are origin and clients at the same time check what it does with messages.
@Suite(.timeLimit(.minutes(60))) struct GatewayTests {
    /// The parts are modules of `gateway.py`.
    @Test(arguments: [
        "messages", "refusals", "connections", "limits", "ends", "halves", "trailers", "cache", "stored", "process",
    ])
    func theGatewayServesClientsAsTheOriginWould(part: String) async throws {
        let folder = try TemporaryFolder()
        try await expectAgreement(of: "gateway.py", [Programs.trellis, folder.path, part])
    }

    /// The peak of the memory in use depends on how the machine schedules threads.
    @Test(.enabled(if: Programs.isFull, "runs with Tests/run.sh --all"))
    func largeBodiesNeedLittleMemory() async throws {
        let folder = try TemporaryFolder()
        try await expectAgreement(of: "gateway.py", [Programs.trellis, folder.path, "memory"])
    }

    @Test(arguments: ["prior knowledge", "TLS"])
    func theOriginMaySpeakHTTP2(kind: String) async throws {
        try await expectAgreement(of: "gateway_http2.py", [Programs.trellis, kind])
    }

    @Test func aPortInUseIsAFailure() async throws {
        let port = try #require(url.split(separator: ":").last)
        let run = try await client(["gateway", "--listen", "127.0.0.1:\(port)", "--origin", url])
        #expect(run.status == 1)
        #expect(run.errors == "trellis: cannot listen on 127.0.0.1:\(port): address already in use\n")
    }

    @Test func requestsAreListedAndACacheThatCannotBeUsedIsTold() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "no-folder")
        let gateway = try start(
            ["gateway", "--listen", "127.0.0.1:0", "--origin", url, "--verbose", "--cache", file], in: folder)
        let listening = /listening on 127\.0\.0\.1:([0-9]+)\n/
        try await gateway.wait(until: "listens") { $0.errors.firstMatch(of: listening) != nil }
        let port = try #require(gateway.errors.firstMatch(of: listening)).1
        let response = try await report(["http://127.0.0.1:\(port)/status/404?a&access_token=s3cret"])
        #expect(response.report["status"] == 404)
        gateway.send(SIGTERM)
        let run = try await gateway.ended()
        #expect(run.status == 0)
        let line = /GET \/status\/404\?a&access_token=REDACTED 404 [0-9]+ ms/
        let requests = run.errors.lines.filter { $0.wholeMatch(of: line) != nil }
        #expect(requests.count == 1, "\(run.errors)")
        #expect(run.errors.lines(with: "the cache in \(file) cannot be used: ").count == 1)
    }

    @Test func theHelpTellsItsUsage() async throws {
        let own = try await client(["gateway", "--help"])
        #expect(own.status == 0)
        #expect(own.lines.starting(with: "USAGE: trellis gateway --listen").count == 1)
        let general = try await client(["--help"])
        #expect(general.lines.filter { $0.contains("trellis gateway --listen") }.count == 1)
    }
}
