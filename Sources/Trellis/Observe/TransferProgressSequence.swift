/// The progress of a transfer as it moves: an asynchronous sequence that anyone may read, as often as they like.
///
/// A reader gets the present state at once, then a value whenever something has moved, about ten a second at most, and always
/// the last one; the sequence ends with the transfer, however that ends. A slow reader misses values and holds up nothing. It
/// ends early in a cancelled task.
public struct TransferProgressSequence: AsyncSequence, Sendable {
    /// A moment of the transfer.
    public typealias Element = TransferProgress
    /// Reading progress does not fail.
    public typealias Failure = Never

    private let broadcaster: ProgressBroadcaster
    /// Called when a reader asks for its first value.
    private let begin: (@Sendable () -> Void)?

    init(_ broadcaster: ProgressBroadcaster, begin: (@Sendable () -> Void)? = nil) {
        self.broadcaster = broadcaster
        self.begin = begin
    }

    /// Reads the values from now on.
    public func makeAsyncIterator() -> Iterator { Iterator(broadcaster: broadcaster, begin: begin) }

    /// The reader of progress.
    public struct Iterator: AsyncIteratorProtocol {
        private let broadcaster: ProgressBroadcaster
        /// What has been seen.
        private var version = 0
        private var begin: (@Sendable () -> Void)?

        fileprivate init(broadcaster: ProgressBroadcaster, begin: (@Sendable () -> Void)?) {
            self.broadcaster = broadcaster
            self.begin = begin
        }

        /// The next value; `nil` when the transfer has ended.
        public mutating func next() async -> TransferProgress? {
            if let begin, !Task.isCancelled {
                self.begin = nil
                begin()
            }
            while !Task.isCancelled {
                switch broadcaster.news(since: version) {
                case .value(let progress, let version):
                    self.version = version
                    return progress
                case .end: return nil
                case .none: await broadcaster.changed(since: version)
                }
            }
            return nil
        }

        /// As ``next()``. It runs where it is called, whatever the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async -> TransferProgress? {
            await next()
        }
    }
}
