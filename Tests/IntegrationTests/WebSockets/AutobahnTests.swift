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

        /// Indicates whether the client has done what the case demands. Of an informational case, nothing is demanded.
        var isGood: Bool {
            ["OK", "INFORMATIONAL"].contains(behavior) && ["OK", "INFORMATIONAL"].contains(close)
        }
    }

    /// Framing, pings, reserved bits, opcodes, fragmentation, UTF-8, closing, limits, and opcodes with odd fragments.
    @Test func framing() async throws {
        try await run([["1.*", "2.*", "3.*", "4.*"], ["5.*", "7.*", "10.*"], ["6.*"], ["9.*"]])
    }

    /// Indicates whether all 216 cases about compression run, with `TRELLIS_AUTOBAHN=all`, which takes some minutes more.
    private static let runsAll = ProcessInfo.processInfo.environment["TRELLIS_AUTOBAHN"] == "all"

    /// Returns the cases of some groups about compression: all 18 of each group, or seven of them.
    ///
    /// Each group is about one kind of content (12.1 to 12.5) or one set of parameters (13.1 to 13.7). Its cases send a thousand messages
    /// each: the first ten in one frame, of 16 bytes to 128 KiB, the others in fragments. The seven cases are the first six, of up to 8 KiB,
    /// and the first one with fragments.
    private static func cases(_ groups: String...) -> [String] {
        groups.flatMap { group in
            runsAll ? ["\(group).*"] : [1, 2, 3, 4, 5, 6, 11].map { "\(group).\($0)" }
        }
    }

    /// Small messages are compressed too: the runner fails at replies without compression, of any client.
    @Test func compression() async throws {
        let groups = [
            Self.cases("12.1", "12.2"), Self.cases("12.3", "12.4", "12.5"), Self.cases("13.1", "13.3", "13.4"),
            // The largest messages.
            ["12.1.18", "12.2.10", "12.5.17"],
        ]
        try await run(groups, WebSocketCompression(threshold: 0))
    }

    /// The runner demands that no context is kept only of clients that have offered that.
    @Test func compressionWithoutContext() async throws {
        let compression = WebSocketCompression(threshold: 0, clientKeepsContext: false)
        try await run([Self.cases("13.2", "13.5"), Self.cases("13.6", "13.7")], compression)
    }

    /// Runs groups of cases at once, each against a runner of its own: runner and client mostly wait for each other.
    private func run(_ groups: [[String]], _ compression: WebSocketCompression? = WebSocketCompression()) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for cases in groups { tasks.addTask { try await run(cases, compression) } }
            try await tasks.waitForAll()
        }
    }

    private func run(_ cases: [String], _ compression: WebSocketCompression?) async throws {
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
