import Foundation
import TrellisTesting

/// A source of chunks of a request's body, which reports the creation and the release of its iterator.
struct WatchedSource: AsyncSequence, Sendable {
    /// The chunks after ``first``.
    enum Rest: String, Sendable, CaseIterable {
        /// More chunks, forever.
        case endless
        /// A wait, until the task is cancelled.
        case stalled
    }

    typealias Element = Data

    let first: Data
    let rest: Rest
    let begun = LoopbackServer.Gate()
    let released = LoopbackServer.Gate()

    init(_ rest: Rest, first: Data = Data("start".utf8)) {
        self.first = first
        self.rest = rest
    }

    func makeAsyncIterator() -> Iterator { Iterator(self) }

    final class Iterator: AsyncIteratorProtocol {
        private let source: WatchedSource
        private var isFirst = true

        init(_ source: WatchedSource) {
            self.source = source
            source.begun.open()
        }

        deinit { source.released.open() }

        func next() async throws -> Data? {
            defer { isFirst = false }
            if isFirst { return source.first }
            switch source.rest {
            case .endless: return Data(count: 16 << 10)
            case .stalled:
                // The gate never opens.
                try await LoopbackServer.Gate().opened()
                return nil
            }
        }
    }
}
