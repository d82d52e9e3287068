import TerminalKit
import Trellis

/// The chunks of a body, whose progress is shown on the terminal while they are sent.
struct CountedChunks: AsyncSequence, Sendable {
    let chunks: DescriptorChunks
    let title: String

    func makeAsyncIterator() -> Iterator {
        Iterator(chunks: chunks.makeAsyncIterator(), title: title, total: chunks.length)
    }

    struct Iterator: AsyncIteratorProtocol {
        var chunks: DescriptorChunks.Iterator
        let title: String
        let total: Int64?
        private let board = ProgressBoard()
        private var count: Int64 = 0

        init(chunks: DescriptorChunks.Iterator, title: String, total: Int64?) {
            (self.chunks, self.title, self.total) = (chunks, title, total)
        }

        /// Returns the next bytes; `nil` at the end. The bytes before them have been taken.
        mutating func next() async throws -> Data? {
            await board.update(0, title, bytes: count, after: 0, of: total)
            let chunk = try await chunks.next()
            if let chunk { count += Int64(chunk.count) } else { await board.end(0, bytes: count) }
            return chunk
        }
    }
}
