import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Conversations that are cancelled at random moments leave nothing behind either.
extension CancellationSoakTests {
    /// The number of conversations. Each one has a connection of its own.
    private static let conversations = requests / 20

    @Test(.timeLimit(.minutes(10)), arguments: [1, 2, 4])
    func cancelledConversationsLeaveNothingBehind(engines: Int) async throws {
        let before = Descriptors.count
        var outcomes = Outcomes()
        do {
            let server = try Self.echo()
            var configuration = SessionConfiguration()
            configuration.engines = .fixed(engines)
            // Fewer connections than tasks, so that handshakes wait.
            configuration.limits.perOrigin = Self.tasks - 2
            let session = Session(configuration: configuration)
            outcomes = await withTaskGroup(of: Outcomes.self) { group in
                for seed in 0..<Self.tasks { group.addTask { await Self.talk(session, server.url(), UInt64(seed)) } }
                return await group.reduce(into: Outcomes()) { sum, part in
                    sum.answered += part.answered
                    sum.cancelled += part.cancelled
                }
            }
            #expect(await session.liveRequestCount == 0)
            try await server.waitUntilAllClosed()
            await session.shutdown()
            server.stop()
        }
        #expect(outcomes.answered + outcomes.cancelled == Self.conversations / Self.tasks * Self.tasks)
        #expect(outcomes.answered > 0 && outcomes.cancelled > 0)
        if Self.isAlone { #expect(Descriptors.count == before, "\(Descriptors.targets)") }
    }

    /// A session that ends in the middle of its conversations ends all of them.
    @Test(.timeLimit(.minutes(2)), arguments: [1, 2, 4])
    func aShutdownInTheMiddleOfConversationsLeavesNothingBehind(engines: Int) async throws {
        let server = try Self.echo()
        for round in 0..<25 {
            var configuration = SessionConfiguration()
            configuration.engines = .fixed(engines)
            configuration.limits.perOrigin = 3
            let session = Session(configuration: configuration)
            let (answered, url) = (Locked(0), server.url())
            let workers = (0..<Self.tasks).map { _ in
                Task {
                    // Ends with the first refused or cancelled conversation.
                    while (try? await Self.conversation(session, url, length: 5)) != nil {
                        answered.withLock { $0 += 1 }
                    }
                }
            }
            while answered.withLock({ $0 }) < 5 + round { await Task.yield() }
            await session.shutdown(drainingFor: .milliseconds(round % 3))
            for worker in workers { await worker.value }
            #expect(await session.liveRequestCount == 0)
        }
        try await server.waitUntilAllClosed()
    }

    /// Holds its share of conversations, and cancels most of them after a random number of yields.
    private static func talk(_ session: Session, _ url: String, _ seed: UInt64) async -> Outcomes {
        var random = SplitMix64(state: seed)
        var outcomes = Outcomes()
        for _ in 0..<(conversations / tasks) {
            let length = Int(random.next() % 20)
            let task = Task { try await conversation(session, url, length: length) }
            if random.next() % 4 != 0 {
                for _ in 0..<(random.next() % 600) { await Task.yield() }
                task.cancel()
            }
            do {
                try await task.value
                outcomes.answered += 1
            } catch is CancellationError {
                outcomes.cancelled += 1
            } catch {
                Issue.record(error)
            }
        }
        return outcomes
    }

    private struct Closed: Error {}

    /// Sends messages, and reads each of them back.
    private static func conversation(_ session: Session, _ url: String, length: Int) async throws {
        let options = WebSocketOptions(compression: nil)
        try await session.withWebSocket(url, options: options) { socket in
            for number in 0..<length {
                let text = String(repeating: "x", count: number * 100)
                try await socket.send(text)
                let reply = try await socket.receive()
                // A cancelled conversation is closed while it waits, and so is one whose session drains.
                try Task.checkCancellation()
                guard let reply else { throw Closed() }
                #expect(reply == .text(text))
            }
        }
        try Task.checkCancellation()
    }

    /// Starts a server that sends all messages back.
    private static func echo() throws -> LoopbackServer {
        try LoopbackServer.webSocket { peer in while let message = try peer.receive() { try peer.send(message) } }
    }
}
