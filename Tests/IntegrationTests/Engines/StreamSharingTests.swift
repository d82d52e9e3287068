import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore

/// The requests of a session with several engines over HTTP/2: they share the connections of one engine.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct StreamSharingTests {
    private static let started = Peer.started("http2_limits.py")

    private struct Counts: Decodable {
        let streams: [Int]
        let accepted: Int

        /// The number of requests that the peer is answering.
        var requests: Int { streams.reduce(0, +) }
    }

    private struct Nothing: Decodable {}

    private let peer: Peer
    private let session: Session

    init() async throws {
        peer = try await Self.started.value
        session = SeveralEnginesTests.session(.fixed(2)) { [peer] in
            $0.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        }
        try await tell("limit 100")
        try await tell("hold")
    }

    private func tell(_ command: String) async throws { _ = try await peer.answer(Nothing.self, to: command) }

    /// Starts requests that the peer answers when it is told to, and waits until it has a number of requests.
    private func hold(_ count: Int, until total: Int) async throws -> ([Task<Int, any Error>], Counts) {
        let request = Request(try peer.url("tls", "/hold"))
        let tasks = (0..<count).map { _ in Task { [session] in try await session.data(request).1.status.code } }
        var counts: Counts = try await peer.answer(to: "counts")
        while counts.requests != total { counts = try await peer.answer(to: "counts") }
        return (tasks, counts)
    }

    @Test func requestsShareTheConnectionsOfOneEngine() async throws {
        let (burst, counts) = try await hold(50, until: 50)
        #expect(counts.streams == [50])
        #expect(session.engineStatistics.map(\.requestCount).sorted() == [0, 50])
        let (more, full) = try await hold(50, until: 100)
        #expect(full.streams == [100])
        #expect(session.engineStatistics.map(\.requestCount).sorted() == [0, 100])
        let (last, two) = try await hold(1, until: 101)
        #expect(two.streams.sorted() == [1, 100])
        #expect(session.engineStatistics.map(\.requestCount).sorted() == [0, 101])
        try await tell("release")
        for task in burst + more + last { #expect(try await task.value == 200) }
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }
}
