import TerminalKit
import Trellis

/// The part about streamed uploads: the body is produced while it is sent, at the pace of the network.
struct StreamedUpload: Part {
    let title = "An upload from an AsyncSequence"

    private struct Receipt: Decodable {
        let received: Int
    }

    func run(with guide: Guide, on server: TourServer) async throws {
        let chunks = Chunks(count: 128, size: 512 << 10)
        let start = ContinuousClock.now
        let (data, response) = try await guide.session.upload(chunks, to: server.url("/upload"))
        let elapsed = ContinuousClock.now - start
        let receipt = try JSONDecoder().decode(Receipt.self, from: data)
        try expect(response.status == .ok, "status \(response.status)")
        try expect(receipt.received == chunks.total, "the server counted \(receipt.received) bytes")
        let rate = elapsed.rate(of: chunks.total)
        guide.say("\(chunks.total.inBytes) in \(chunks.count) chunks at \(rate); the server counted every byte")
    }
}

/// A sequence of chunks that are produced on demand.
private struct Chunks: AsyncSequence, Sendable {
    let count: Int
    let size: Int
    var total: Int { count * size }

    func makeAsyncIterator() -> Iterator { Iterator(size: size, left: count) }

    struct Iterator: AsyncIteratorProtocol {
        let size: Int
        var left: Int

        mutating func next() async throws -> Data? {
            guard left > 0 else { return nil }
            left -= 1
            return Data(repeating: UInt8(truncatingIfNeeded: left), count: size)
        }
    }
}
