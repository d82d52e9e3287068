import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// Conversations that are cancelled at random moments leave nothing behind either.
extension CancellationSoakTests {
    /// The number of conversations. Each one has a connection of its own. The first 64 are of every kind.
    private static let conversations = max(requests / 20, 64)

    /// A kind of conversation.
    private enum Kind {
        /// Small messages without compression.
        case plain
        /// Small messages with compression.
        case compressed
        /// A message of two frames.
        case large
        /// A message of 512 KiB, which compression makes small.
        case compressedLarge

        /// Returns the kind of a task's conversation. Few are of large frames, for which the server takes long.
        static func of(turn: Int) -> Kind {
            if turn % 64 == 63 { return .large }
            if turn % 8 == 0 { return .compressedLarge }
            return turn % 2 == 0 ? .plain : .compressed
        }

        /// The settings of the connection.
        var options: WebSocketOptions {
            let compresses = self == .compressed || self == .compressedLarge
            return WebSocketOptions(compression: compresses ? WebSocketCompression(threshold: 0) : nil)
        }

        /// Returns the messages of a conversation.
        func messages(_ length: Int) -> [String] {
            switch self {
            case .plain, .compressed: (0..<length).map { String(repeating: "x\($0)", count: $0 * 50) }
            case .large: [String(repeating: "x", count: 300 << 10)]
            // The check of other characters takes long under a sanitizer.
            case .compressedLarge:
                ["a", String(repeating: String(repeating: "x", count: 98) + "é", count: (512 << 10) / 100), "b"]
            }
        }
    }

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
        let url = server.url()
        for round in 0..<Self.shutdowns {
            await Self.shutDown(after: 5 + round, .milliseconds(round % 3), engines: engines) { session, turn in
                (try? await Self.conversation(session, url, .of(turn: turn), length: 5)) != nil
            }
        }
        try await server.waitUntilAllClosed()
    }

    /// Holds its share of conversations, and cancels most of them after a random number of yields.
    private static func talk(_ session: Session, _ url: String, _ seed: UInt64) async -> Outcomes {
        var random = SplitMix64(state: seed)
        var outcomes = Outcomes()
        for turn in 0..<(conversations / tasks) {
            let length = Int(random.next() % 20)
            let kind = Kind.of(turn: turn + Int(seed) * 8)
            let task = Task { try await conversation(session, url, kind, length: length) }
            if random.next() % 4 != 0 {
                for _ in 0..<(turn == 0 ? 0 : random.next() % 600) { await Task.yield() }
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
    private static func conversation(_ session: Session, _ url: String, _ kind: Kind, length: Int) async throws {
        try await session.withWebSocket(url, options: kind.options) { socket in
            for text in kind.messages(length) {
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

    /// Starts a server that sends all frames back as they came. The client's compressed messages, all of them in their order, are a valid
    /// sequence of compressed messages of the server too.
    private static func echo() throws -> LoopbackServer {
        try LoopbackServer { connection in
            guard let request = try connection.readHead() else { return }
            let isCompressed = request["Sec-WebSocket-Extensions"] != nil
            let peer = try connection.acceptWebSocket(
                request, headers: isCompressed ? [("Sec-WebSocket-Extensions", "permessage-deflate")] : [])
            while true {
                let frame = try peer.receiveFrame()
                try peer.send(frame)
                if frame.first & 0x0F == 8 { return }
            }
        }
    }
}
