import Foundation
import Testing
import Trellis
import TrellisTesting

/// Bodies from sequences that violate their contract fail their requests, and leave nothing behind.
@Suite(.timeLimit(.minutes(1)))
struct BodySourceTests {
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
        let server = try reading()
        var request = server.request
        // The server is not the cause of the silence, so the idle limit does not end the request.
        request.timeouts = Timeouts(idle: .milliseconds(100), total: .milliseconds(500))
        await expectFailure([.deadline]) {
            try await server.session.upload(.stream(BodySource.stalled(), length: length), to: request)
        }
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [nil, 100] as [Int64?])
    func sourceThatStopsYielding(_ length: Int64?) async throws {
        let server = try reading()
        var request = server.request
        request.timeouts = Timeouts(total: .milliseconds(500))
        await expectFailure([.deadline]) {
            try await server.session.upload(.stream(BodySource.stalled(after: "start"), length: length), to: request)
        }
        try await server.isHealthyAndLeavesNothing()
    }

    /// A source that stops yielding before a server that does not read reaches the idle limit. The chunk is larger than all buffers on the
    /// way.
    @Test func sourceThatStopsYieldingBeforeAServerThatDoesNotRead() async throws {
        let over = LoopbackServer.Gate()
        let server = try Misbehaviour { connection, _ in
            try connection.wait(for: over)
            connection.reset()
        }
        var request = server.request
        request.timeouts = .impatient
        let chunk = String(repeating: "x", count: 64 << 20)
        await expectFailure([.idleTimeout]) {
            try await server.session.upload(.stream(BodySource.stalled(after: chunk)), to: request)
        }
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
    private func reading() throws -> Misbehaviour {
        try Misbehaviour { connection, head in
            _ = try connection.readBody(of: head)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
    }
}
