import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Transfers of one session share a limit equally. Bytes are counted, and the clock is moved on when the bytes that it has allowed have
/// come. Both transfers have their bytes at hand, so that the slower of two servers or sources is not behind.
@Suite(.timeLimit(.minutes(3)))
struct BandwidthFairnessTests {
    private static let limit = BandwidthLimit(bytesPerSecond: 1_000_000, burst: 150_000)
    /// The number of bytes that both transfers together move.
    private static let enough = 800_000
    /// The number of bytes that each transfer has at hand, which the buffers of a connection can hold.
    private static let ready = 560_000

    private let clock = TestClock()

    /// The byte counts of two transfers.
    private final class Counts: Sendable {
        private let counts = Locked((0, 0))
        /// The sum of the counts after each change.
        let sums: AsyncStream<Int>
        private let changed: AsyncStream<Int>.Continuation
        /// Opens when the requests of both transfers have arrived. Both have a first turn then, whatever the other one takes.
        let haveBegun = LoopbackServer.Gate()
        private let begunCount = Locked(0)
        /// Opens when both transfers are ready: until then, one alone may take all that the limit allows.
        let areReady = LoopbackServer.Gate()
        private let readyCount = Locked(0)

        init() { (sums, changed) = AsyncStream.makeStream() }

        /// Records that the request of one of the transfers has arrived.
        func hasBegun() { if begunCount.next() == 2 { haveBegun.open() } }

        /// Records that one of the transfers is ready.
        func isReady() { if readyCount.next() == 2 { areReady.open() } }

        func add(_ count: Int, to index: Int) {
            counts.withLock { counts in
                guard counts.0 + counts.1 < BandwidthFairnessTests.enough else { return }
                if index == 0 { counts.0 += count } else { counts.1 += count }
                changed.yield(counts.0 + counts.1)
            }
        }

        var values: (Int, Int) { counts.withLock { $0 } }
    }

    /// The number of bytes that the limit allows up to now, apart from the burst.
    private var allowed: Int { Int(clock.now.elapsed / .microseconds(1)) * Self.limit.bytesPerSecond / 1_000_000 }

    private func session(_ limits: BandwidthLimits) -> Session {
        var configuration = SessionConfiguration()
        configuration.bandwidth = limits
        return Session(configuration: configuration, clock: clock)
    }

    /// Moves the clock until both transfers together have moved enough bytes, and expects the same number of each.
    ///
    /// The burst has a first turn for each of them, because no bytes come before both have begun. The clock stands still until both have moved bytes of it: until the task of a source
    /// or a reader runs, its transfer leaves the limit to the other one.
    private func expectEqualShares(_ counts: Counts, sourceLocation: SourceLocation = #_sourceLocation) async {
        for await sum in counts.sums {
            if sum >= Self.enough { break }
            guard counts.values.0 > 0, counts.values.1 > 0 else { continue }
            while sum >= allowed { clock.move(by: .milliseconds(20)) }
        }
        let (one, other) = counts.values
        // The contents of a buffer go beyond the limit.
        #expect(one + other <= allowed + Self.limit.burst + 200_000, sourceLocation: sourceLocation)
        #expect(abs(one - other) < Self.enough / 4, "\(one) and \(other)", sourceLocation: sourceLocation)
    }

    @Test func downloads() async throws {
        let (session, counts, end) = (session(BandwidthLimits(download: Self.limit)), Counts(), LoopbackServer.Gate())
        let server = try LoopbackServer.http { request in
            .init(
                body: .chunked { body in
                    counts.hasBegun()
                    try body.connection.wait(for: counts.haveBegun)
                    // The chunks of one response are much smaller than the chunks of the other one.
                    let piece = [UInt8](repeating: 7, count: request.path == "/0" ? 1000 : 70_000)
                    for _ in 0..<Self.ready / piece.count { try body.write(piece) }
                    counts.isReady()
                    try body.connection.wait(for: end)
                })
        }
        let readers = (0...1).map { index in
            Task {
                let stream = try await session.stream(server.url("/\(index)"))
                try await counts.areReady.opened()
                for try await chunk in stream.chunks { counts.add(chunk.count, to: index) }
            }
        }
        await expectEqualShares(counts)
        for reader in readers { reader.cancel() }
        end.open()
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func uploads() async throws {
        let (session, counts) = (session(BandwidthLimits(upload: Self.limit)), Counts())
        let server = try LoopbackServer { connection in
            guard let head = try connection.readHead() else { return }
            counts.isReady()
            while case let bytes = try connection.read(), !bytes.isEmpty {
                counts.add(bytes.count, to: head.path == "/0" ? 0 : 1)
            }
        }
        let senders = (0...1).map { index in
            let chunkCount = Locked(0)
            let chunks = AsyncStream<Data> {
                try? await counts.areReady.opened()
                return chunkCount.next() == 1 ? Data(count: Self.ready) : nil
            }
            return Task { try await session.upload(chunks, to: server.url("/\(index)")) }
        }
        await expectEqualShares(counts)
        for sender in senders { sender.cancel() }
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// Many short transfers all arrive. Each waits for its turn before its first byte.
    @Test(arguments: [HTTPVersionPolicy.automatic, .http1Only])
    func manyShortTransfersAllArrive(_ version: HTTPVersionPolicy) async throws {
        var configuration = SessionConfiguration()
        configuration.bandwidth = BandwidthLimits(upload: Self.limit, download: Self.limit)
        configuration.httpVersion = version
        let session = Session(configuration, leaping: LeapingClock())
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
}
