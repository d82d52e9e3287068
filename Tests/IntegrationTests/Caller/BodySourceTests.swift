import Foundation
import Testing
import Trellis
import TrellisTesting

/// Bodies from sequences that violate their contract fail their requests, and leave nothing behind.
@Suite(.timeLimit(.minutes(3)))
struct BodySourceTests {
    private let clock = TestClock()

    @Test(arguments: [nil, 100] as [Int64?])
    func sourceThatThrows(_ length: Int64?) async throws {
        let server = try reading()
        let error = await expectFailure([.other]) {
            try await server.session.upload(
                .stream(BodySource.broken(after: "start"), length: length), to: server.request)
        }
        #expect(error?.underlying is BodySource.Broken)
        try await server.isHealthyAndLeavesNothing()
        #expect(server.server.requests.first?.bodyLength == 0, "the server must not take the body for whole")
    }

    @Test(arguments: [nil, 100] as [Int64?])
    func sourceThatNeverYields(_ length: Int64?) async throws {
        // The server is not the cause of the silence, so the idle limit does not end the request.
        let server = try reading(clock)
        let request = server.request.withTimeouts(Timeouts(idle: .seconds(20), total: .seconds(50)))
        try await expectTimeout(
            [.totalTimeout], after: .seconds(50), on: clock, in: server.session, once: server.reached
        ) { try await server.session.upload(.stream(BodySource.stalled(), length: length), to: request) }
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [nil, 100] as [Int64?])
    func sourceThatStopsYielding(_ length: Int64?) async throws {
        let server = try reading(clock)
        let request = server.request.withTimeouts(Timeouts(total: .seconds(50)))
        let body = RequestBody.stream(BodySource.stalled(after: "start"), length: length)
        try await expectTimeout(
            [.totalTimeout], after: .seconds(50), on: clock, in: server.session, once: server.reached
        ) { try await server.session.upload(body, to: request) }
        try await server.isHealthyAndLeavesNothing()
    }

    /// A source that stops yielding before a server that does not read reaches the idle limit. The chunk is larger than all buffers on the
    /// way.
    @Test func sourceThatStopsYieldingBeforeAServerThatDoesNotRead() async throws {
        let over = LoopbackServer.Gate()
        let server = try Misbehaviour(clock: clock) { connection, _ in
            try connection.wait(for: over)
            connection.reset()
        }
        let request = server.request.withTimeouts(.soonIdle)
        let body = RequestBody.stream(BodySource.stalled(after: Data(count: 64 << 20)))
        try await expectTimeout(
            [.idleTimeout], after: Timeouts.idleLimit, on: clock, in: server.session, once: server.reached
        ) { try await server.session.upload(body, to: request) }
        over.open()
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [4, 11, 1_000_000] as [Int64])
    func sourceThatGivesMoreOrLessThanPromised(_ length: Int64) async throws {
        let server = try reading()
        await expectFailure([.invalidRequest]) {
            try await server.session.upload(
                .stream(BodySource.chunks("hello", "world"), length: length), to: server.request)
        }
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [nil, 10] as [Int64?])
    func sourceThatKeepsItsPromise(_ length: Int64?) async throws {
        let server = try LoopbackServer.http { request in .text(String(decoding: request.body, as: UTF8.self)) }
        let session = Session()
        let body = RequestBody.stream(BodySource.chunks("hello", "", "world"), length: length)
        let (data, _) = try await session.upload(body, to: server.url())
        #expect(String(decoding: data, as: UTF8.self) == "helloworld")
        #expect(server.requests.first?.method == "POST")
        #expect(server.requests.first?["Content-Length"] == (length == nil ? nil : "10"))
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// Returns a server that reads the complete body before it responds.
    private func reading(_ clock: TestClock? = nil) throws -> Misbehaviour {
        try Misbehaviour(clock: clock) { connection, head in
            _ = try connection.readBody(of: head)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
    }
}
