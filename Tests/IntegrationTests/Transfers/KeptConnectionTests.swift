import CurlEngine
import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Large bodies arrive one after the other on the same few connections, with readers that are slower than the server.
@Suite(.timeLimit(.minutes(2)))
struct KeptConnectionTests {
    private static let content = noise(3 << 20)

    /// A transfer on a kept connection gets every byte, even if it is paused and resumed at once: the connection is not mistaken for an
    /// idle one with unrequested bytes.
    @Test func everyByteArrives() async throws {
        let server = try LoopbackServer.http { _ in .init(body: .bytes(Self.content)) }
        var configuration = SessionConfiguration()
        // A second engine would be added under this load where a processor is idle, and would have connections of its own.
        configuration.engines = .one
        configuration.limits.perOrigin = 4
        let session = Session(configuration: configuration)
        let rounds = Scale.isFull ? 40 : 6
        let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for _ in 0..<rounds where try await Self.read(server.url(), session) != Self.content { wrong += 1 }
                    return wrong
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(wrong == 0)
        #expect(server.acceptedCount == 4)
        await session.shutdown()
    }

    /// A request that lasts long keeps no idle connections of others open.
    @Test func idleConnectionsAreClosedWhileARequestRuns() async throws {
        let (mayEnd, mayAnswer) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let server = try LoopbackServer { connection in
            while let request = try connection.nextRequest() {
                try connection.wait(for: request.path == "/long" ? mayEnd : mayAnswer)
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        var configuration = SessionConfiguration()
        configuration.limits.idleLifetime = .seconds(20)
        let clock = TestClock()
        let session = Session(configuration: configuration, clock: clock)
        async let long = session.string(server.url("/long"))
        async let others = withThrowingTaskGroup { group in
            for _ in 0..<3 { group.addTask { try await session.string(server.url("/short")) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await server.waitUntilRequested(count: 4)
        mayAnswer.open()
        #expect(try await others == ["ok", "ok", "ok"])
        await session.settle()
        // The request itself may be silent for longer.
        clock.move(by: .seconds(20))
        try await server.waitUntilClosed(count: 3)
        #expect(server.acceptedCount == 4)
        mayEnd.open()
        #expect(try await long == "ok")
        await session.shutdown()
    }

    private static func read(_ url: String, _ session: Session) async throws -> Data {
        var body = Data()
        for try await chunk in try await session.stream(url).chunks {
            body.append(chunk)
            await Task.yield()
        }
        return body
    }
}
