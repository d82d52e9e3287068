import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Transfers of one session share a limit equally. Bytes are counted, not time.
@Suite(.timeLimit(.minutes(1)))
struct BandwidthFairnessTests {
    private static let limit = BandwidthLimit(bytesPerSecond: 8 << 20)
    private static let enough = 6 << 20

    /// The byte counts of two transfers, with a gate that opens when both together have received enough.
    private final class Counts: Sendable {
        private let counts = Locked((0, 0))
        private let start = ContinuousClock.now
        let isEnough = LoopbackServer.Gate()
        /// Opens when both transfers have begun: until then, one alone may take all that the limit allows.
        private let bothBegan = LoopbackServer.Gate()
        private let begun = Locked(0)

        /// Waits until the other transfer has begun as well.
        func begin() async throws {
            if begun.next() == 2 { bothBegan.open() }
            try await bothBegan.opened()
        }

        func add(_ count: Int, to index: Int) {
            counts.withLock { counts in
                guard counts.0 + counts.1 < BandwidthFairnessTests.enough else { return isEnough.open() }
                if index == 0 { counts.0 += count } else { counts.1 += count }
            }
        }

        var values: (Int, Int) { counts.withLock { $0 } }

        /// The largest number of bytes that the limit allows until now, which is also correct on a slow machine.
        var allowed: Int {
            let (seconds, attoseconds) = (ContinuousClock.now - start).components
            let time = Double(seconds) + Double(attoseconds) / 1e18
            return Int(time * Double(limit.bytesPerSecond)) + limit.burst + (1 << 20)
        }
    }

    @Test func downloads() async throws {
        var configuration = SessionConfiguration()
        configuration.bandwidth.download = Self.limit
        let session = Session(configuration: configuration)
        let server = try LoopbackServer.http { request in
            .init(
                body: .chunked { body in
                    // The chunks of one response are much smaller than those of the other.
                    let piece = [UInt8](repeating: 7, count: request.path == "/0" ? 1000 : 500_000)
                    while true { try body.write(piece) }
                })
        }
        let counts = Counts()
        let readers = (0...1).map { index in
            Task {
                let stream = try await session.stream(server.url("/\(index)"))
                try await counts.begin()
                for try await chunk in stream.body {
                    counts.add(chunk.count, to: index)
                }
            }
        }
        try await counts.isEnough.opened()
        for reader in readers { reader.cancel() }
        expectEqualShares(counts)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func uploads() async throws {
        var configuration = SessionConfiguration()
        configuration.bandwidth.upload = Self.limit
        let session = Session(configuration: configuration)
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            try connection.readToEnd()
        }
        let counts = Counts()
        let senders = (0...1).map { index in
            let size = index == 0 ? 4000 : 100_000
            let chunkCount = Locked(0)
            let chunks = AsyncStream<Data> {
                // The second chunk is asked for when the connection is there and has taken the first.
                if chunkCount.next() == 2 { try? await counts.begin() }
                counts.add(size, to: index)
                return Data(count: size)
            }
            return Task { try await session.upload(chunks, to: server.url()) }
        }
        try await counts.isEnough.opened()
        for sender in senders { sender.cancel() }
        expectEqualShares(counts)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// Many short transfers all arrive. Each waits for its turn before its first byte.
    @Test(arguments: [HTTPVersionPolicy.automatic, .http1Only])
    func manyShortTransfersAllArrive(_ version: HTTPVersionPolicy) async throws {
        var configuration = SessionConfiguration()
        configuration.bandwidth = BandwidthLimits(upload: Self.limit, download: Self.limit)
        configuration.httpVersion = version
        let session = Session(configuration: configuration)
        let server = try LoopbackServer.http { request in .init(body: request.body) }
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<32 {
                group.addTask {
                    try await session.upload(Data(count: number * 3000), to: server.url()).0.count - number * 3000
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == Array(repeating: 0, count: 32))
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    private func expectEqualShares(_ counts: Counts, sourceLocation: SourceLocation = #_sourceLocation) {
        let (one, other) = counts.values
        #expect(one + other <= counts.allowed, sourceLocation: sourceLocation)
        #expect(abs(one - other) < Self.enough / 4, "\(one) and \(other)", sourceLocation: sourceLocation)
    }
}
