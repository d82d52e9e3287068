import Foundation
import Testing
import Trellis
import TrellisTesting

/// Kept connections may break or receive bytes between two requests.
@Suite(.timeLimit(.minutes(3)))
struct StaleConnectionTests {
    /// Bytes that arrive without a request are never the next response.
    @Test(
        arguments: [
            Row("a whole answer", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
            Row(
                "a timeout's answer and the end", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nevil",
                then: .close),
            Row("a line end", "\r\n"), Row("rubbish", "evil"),
        ], Misbehaviour.Scheme.allCases)
    func unsolicitedBytesAreNotTheNextAnswer(_ row: Row, _ scheme: Misbehaviour.Scheme) async throws {
        let first = LoopbackServer.Gate(), sent = LoopbackServer.Gate()
        let server = try Misbehaviour(over: scheme) { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            try connection.wait(for: first)
            try connection.write(row.answer)
            connection.waitUntilReceived()
            row.ending.apply(to: connection)
            sent.open()
        }
        let (data, _) = try await server.session.data(server.request)
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        first.open()
        try await sent.opened()
        try await server.isHealthyAndLeavesNothing()
    }

    /// Returns a session with one engine: a second one, which is added on a busy machine, would not use the connection of the first.
    private static func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = .one
        change(&configuration)
        return Session(configuration: configuration)
    }

    /// Returns a server that closes its first connection when the second request arrives there.
    private func closingUnderTheSecondRequest() throws -> LoopbackServer {
        try LoopbackServer { connection in
            var count = 0
            while let request = try connection.nextRequest() {
                count += 1
                if count == 2, connection.ordinal == 1 { return connection.close() }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n")
                try connection.write(request.body)
            }
        }
    }

    @Test func idempotentRequestSucceedsUnnoticed() async throws {
        let server = try closingUnderTheSecondRequest(), session = Self.session()
        _ = try await session.data(server.url("/1"))
        let (_, response) = try await session.data(server.url("/2"))
        #expect(response.status == .ok)
        #expect(server.requests.map(\.path) == ["/1", "/2", "/2"])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// A large body in memory is sent again only by a policy that may do so. Otherwise the error is not that the body could not be
    /// repeated.
    @Test(arguments: [false, true])
    func aLargeBodyIsSentAgainOnlyWithAKey(_ hasKey: Bool) async throws {
        let server = try LoopbackServer { connection in
            if connection.ordinal == 1 {
                _ = try connection.readRequest()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
            guard let head = try connection.readHead() else { return }
            if connection.ordinal == 1 {
                _ = try connection.read(exactly: 100_000)
                return connection.reset()
            }
            let request = try connection.readBody(of: head, storing: false)
            let text = "\(request.bodyLength)"
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        }
        let session = Self.session {
            if hasKey { $0.steps.intercept(with: RetryPolicy(addsIdempotencyKey: true, random: { 0 })) }
        }
        _ = try await session.data(server.url("/1"))
        let upload = { try await session.upload(Data(count: 2_000_000), to: server.url("/2")).0 }
        if hasKey {
            #expect(try await String(decoding: upload(), as: UTF8.self) == "2000000")
        } else {
            let error = await #expect(throws: TrellisError.self) { try await upload() }
            #expect(error.map { [.send, .receive].contains($0.kind) } == true, "\(String(describing: error))")
        }
        await session.shutdown()
    }

    @Test func otherRequestIsNotSentTwice() async throws {
        let server = try closingUnderTheSecondRequest(), session = Self.session()
        _ = try await session.data(server.url("/1"))
        let post = Request(server.url("/2"), method: .post, body: .string("once"))
        let error = await expectFailure([.receive, .send]) { try await session.data(post) }
        #expect(error?.mayHaveSentBytes == true)
        #expect(error?.isRetryable == false)
        #expect(server.requests.map(\.path) == ["/1", "/2"])
        let (data, _) = try await session.data(Request(server.url("/3"), method: .post, body: .string("again")))
        #expect(String(decoding: data, as: UTF8.self) == "again")
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// A request uses another connection if its own was closed before and the end was detected: nothing was sent, so any request may do so.
    @Test func requestAfterAnOrderlyEndUsesAnotherConnection() async throws {
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            if connection.ordinal > 1 { try connection.readRequest() }
        }
        let session = Self.session()
        _ = try await session.data(server.url("/1"))
        try await server.waitUntilRequested(count: 1)
        _ = try await session.data(server.url("/2"))
        #expect(server.requests.map(\.path) == ["/1", "/2"])
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }
}
