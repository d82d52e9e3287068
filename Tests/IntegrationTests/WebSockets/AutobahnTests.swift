import Foundation
import Testing
import Trellis

/// The cases of the Autobahn test suite for clients, against the runner kosoku: an echo, whose frames and ends the runner judges.
@Suite(.requiresPeers, .timeLimit(.minutes(5)))
struct AutobahnTests {
    /// A case whose result is not that of a client without faults.
    struct Result: Decodable, CustomStringConvertible {
        let `case`: String
        let behavior: String
        let close: String
        let what: String

        var description: String { "\(`case`): \(behavior), \(close): \(what)" }

        /// Whether the client has done what the case demands. Of an informational case, nothing is demanded.
        var isGood: Bool {
            ["OK", "INFORMATIONAL"].contains(behavior) && ["OK", "INFORMATIONAL"].contains(close)
        }
    }

    /// Framing, pings, reserved bits, opcodes, fragmentation, UTF-8, closing, limits, and opcodes with odd fragments.
    @Test func framing() async throws {
        let count = try await run(AutobahnCases.framing)
        #expect(count == AutobahnCases.framingRunning)
    }

    // MARK: Compression

    /// The five kinds of content: JSON, a picture, prose, HTML and a PDF. Small messages are compressed too: the runner fails at replies
    /// without compression, of any client.
    @Test func compression() async throws {
        try await run(AutobahnCases.compression.running, atOnce: 6, WebSocketCompression(threshold: 0))
    }

    @Test func compressionWithParameters() async throws {
        try await run(AutobahnCases.parameters.running, atOnce: 4, WebSocketCompression(threshold: 0))
    }

    /// The runner demands that no context is kept only of clients that have offered that.
    @Test func compressionWithoutContext() async throws {
        let compression = WebSocketCompression(threshold: 0, clientKeepsContext: false)
        try await run(AutobahnCases.withoutContext.running, atOnce: 4, compression)
    }

    /// Runs cases, several at once: each case in turn goes to the next of some runners.
    private func run(_ cases: [String], atOnce count: Int, _ compression: WebSocketCompression) async throws {
        // A runner takes as long to start as a few small cases.
        let count = min(count, cases.count / 3)
        let groups = (0..<count).map { first in
            stride(from: first, to: cases.count, by: count).map { cases[$0] }
        }
        let ran = try await run(groups, compression)
        #expect(ran == cases.count)
    }

    // MARK: Runners

    /// Runs groups of cases at once, each against a runner of its own: runner and client mostly wait for each other.
    ///
    /// - Returns: The number of cases.
    private func run(
        _ groups: [[String]], _ compression: WebSocketCompression? = WebSocketCompression()
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { tasks in
            for cases in groups { tasks.addTask { try await run(cases, compression) } }
            var total = 0
            for try await count in tasks { total += count }
            return total
        }
    }

    private func run(_ cases: [String], _ compression: WebSocketCompression?) async throws -> Int {
        let peer = try await Peer.startedOnce("autobahn.py", cases)
        let session = Session()
        // The largest messages of group 9 are 16 MiB.
        let options = WebSocketOptions(maximumMessageSize: 17 << 20, compression: compression)
        let url = { (path: String) in try peer.url("ws", path, scheme: "ws") }
        let count = try await session.withWebSocket(url("/getCaseCount"), options: options) { socket in
            try await socket.receive()?.text.flatMap { Int($0) }
        }
        for number in 1...(try #require(count)) {
            let socket = try await session.webSocket(url("/runCase?case=\(number)&agent=trellis"), options: options)
            await echo(socket)
        }
        // The runner ends this connection without a Close frame.
        await echo(try await session.webSocket(url("/updateReports?agent=trellis"), options: options))
        let results = try await peer.answer([Result].self, to: "results")
        #expect(results.count == count)
        let bad = results.filter { !$0.isGood }
        #expect(bad.isEmpty, "\(bad.map(\.description).joined(separator: "\n"))")
        await session.shutdown()
        return results.count
    }

    /// Sends all messages back, until the connection ends in any way.
    private func echo(_ socket: WebSocket) async {
        do {
            while let message = try await socket.receive() { try await socket.send(message) }
        } catch {
            // Many cases end with a failure of the connection, which is part of their result.
        }
        try? await socket.close()
    }
}
