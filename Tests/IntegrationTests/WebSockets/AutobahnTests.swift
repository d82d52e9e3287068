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
    @Test(arguments: [["1.*", "2.*", "3.*", "4.*"], ["5.*", "7.*", "10.*"], ["6.*"], ["9.*"]])
    func framing(_ cases: [String]) async throws { try await run(cases) }

    /// Compression. The cases send a thousand messages each, of up to 128 KiB, so that only a few sizes of group 12 run, and one size of each
    /// set of parameters of group 13.
    ///
    /// Small messages are compressed too: the runner fails at replies without compression, of any client.
    @Test(arguments: [
        ["12.1.1", "12.1.6", "12.1.12", "12.1.18"], ["12.2.1", "12.2.10", "12.3.5", "12.4.12", "12.5.17"],
        ["13.1.1", "13.3.3", "13.4.4"],
    ])
    func compression(_ cases: [String]) async throws { try await run(cases, WebSocketCompression(threshold: 0)) }

    /// The runner demands that no context is kept only of clients that have offered that.
    @Test func compressionWithoutContext() async throws {
        let compression = WebSocketCompression(threshold: 0, clientKeepsContext: false)
        try await run(["13.2.2", "13.5.5", "13.6.6", "13.7.7"], compression)
    }

    private func run(_ cases: [String], _ compression: WebSocketCompression? = WebSocketCompression()) async throws {
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
