import Foundation
import Testing
import Trellis
import TrellisTesting

/// With `Expect: 100-continue`, a body is sent only after a 100 or a wait, here over a socket.
@Suite(.timeLimit(.minutes(3)))
struct ContinueSocketTests {
    /// A wait that is longer than a test may take.
    private static let forever = Duration.seconds(3600)

    private func request(_ server: Misbehaviour, waiting wait: Duration = forever) -> Request {
        server.request.withContinueExpectation(waiting: wait).withMethod(.put)
    }

    @Test(arguments: [nil, 5] as [Int64?])
    func theBodyFollowsThe100(_ length: Int64?) async throws {
        let source = WatchedSource(.stalled)
        let server = try Misbehaviour { connection, head in
            #expect(head.values(of: "Expect") == ["100-continue"])
            #expect(!source.begun.isOpen)
            try connection.write("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
            _ = try connection.read(exactly: 5)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let (data, response) = try await server.session.upload(.stream(source, length: length), to: request(server))
        #expect(String(decoding: data, as: UTF8.self) == "ok")
        #expect(response.informational.map(\.status.code) == [103, 100])
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [5, 100_000, 3_000_000])
    func bodiesOfAnySizeWait(_ count: Int) async throws {
        let server = try Misbehaviour { connection, head in
            #expect(head["Content-Length"] == "\(count)")
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            let request = try connection.readBody(of: head, storing: false)
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Count: \(request.bodyLength)\r\n\r\n")
        }
        let (_, response) = try await server.session.upload(Data(count: count), to: request(server))
        #expect(response.headers.first { $0.name.canonicalName == "x-count" }?.value == "\(count)")
        try await server.isHealthyAndLeavesNothing()
        #expect(server.server.acceptedCount == 1, "the connection is used again")
    }

    @Test func silenceEndsTheWait() async throws {
        let clock = TestClock(), sent = LoopbackServer.Gate()
        let server = try Misbehaviour(clock: clock) { connection, head in
            _ = try connection.readBody(of: head)
            sent.open()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        async let answer = server.session.upload(Data(count: 1000), to: request(server, waiting: .seconds(5)))
        try await server.reached.opened()
        await server.session.settle()
        #expect(!sent.isOpen)
        clock.move(by: .seconds(5))
        #expect(try await answer.1.status == .ok)
        #expect(server.server.requests.first?.bodyLength == 1000)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [200, 401, 413], EarlyAnswerFramingTests.Framing.allCases)
    func anAnswerInItsPlaceLeavesTheBodyUnread(_ status: Int, _ framing: EarlyAnswerFramingTests.Framing) async throws {
        let source = WatchedSource(.stalled)
        let server = try Misbehaviour { connection, _ in
            try connection.write(framing.answer(status))
            if framing == .close { connection.shutdownWrite() }
            #expect(try connection.readToEnd() == 0, "nothing of the body, not even its end")
        }
        let (_, response) = try await server.session.upload(.stream(source), to: request(server))
        #expect(response.status.code == status)
        #expect(!source.begun.isOpen)
        try await server.isHealthyAndLeavesNothing()
        #expect(server.server.acceptedCount == 2, "the connection must not carry another request")
    }

    @Test func a417IsFollowedByARequestWithoutTheExpectation() async throws {
        let server = try Misbehaviour { connection, head in
            guard head["Expect"] == nil else {
                try connection.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 4\r\n\r\nsorr")
                try connection.readToEnd()
                return
            }
            let request = try connection.readBody(of: head)
            #expect(String(decoding: request.body, as: UTF8.self) == "start")
            try connection.write("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        }
        let body = RequestBody.stream(BodySource.chunks("start"))
        let (data, response) = try await server.session.upload(body, to: request(server))
        #expect(response.status.code == 201)
        #expect(data.isEmpty)
        try await server.isHealthyAndLeavesNothing()
    }
}
