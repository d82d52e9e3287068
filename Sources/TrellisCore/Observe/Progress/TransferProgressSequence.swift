/// The progress of a transfer as an asynchronous sequence. Any number of readers may read the sequence, any number of times.
///
/// A reader gets the current value at once, then a value after each change, at most about ten per second, and always the last
/// value. The sequence ends with the transfer, successful or not, and ends early in a cancelled task. A slow reader misses values
/// and does not delay the transfer.
public struct TransferProgressSequence: AsyncSequence, Sendable {
    /// The progress of the transfer at one moment.
    public typealias Element = TransferProgress
    /// The error type of reading, which cannot fail.
    public typealias Failure = Never

    private let broadcaster: ProgressBroadcaster
    /// The closure that is called when a reader asks for its first value.
    private let begin: (@Sendable () -> Void)?

    package init(_ broadcaster: ProgressBroadcaster, begin: (@Sendable () -> Void)? = nil) {
        self.broadcaster = broadcaster
        self.begin = begin
    }

    /// Returns an iterator over the values from now on.
    public func makeAsyncIterator() -> Iterator { Iterator(broadcaster: broadcaster, begin: begin) }

    /// The iterator over the values of a transfer.
    public struct Iterator: AsyncIteratorProtocol {
        private let broadcaster: ProgressBroadcaster
        /// The number of the last value that was read.
        private var version = 0
        private var begin: (@Sendable () -> Void)?

        fileprivate init(broadcaster: ProgressBroadcaster, begin: (@Sendable () -> Void)?) {
            self.broadcaster = broadcaster
            self.begin = begin
        }

        /// Returns the next value; `nil` if the transfer has ended, or the task is cancelled.
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

        /// Returns the next value, as ``next()`` does. The method runs in the caller's isolation, regardless of the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async -> TransferProgress? {
            await next()
        }
    }
}
