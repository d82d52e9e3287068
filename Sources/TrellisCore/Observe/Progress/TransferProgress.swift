/// The progress of a transfer at one moment.
///
/// ```swift
/// for await progress in download.progress {
///     print(progress.completedBytes, progress.fraction ?? 0, progress.estimatedTimeLeft ?? .zero)
/// }
/// ```
public struct TransferProgress: Sendable, Hashable {
    /// The number of completed bytes, including an earlier part of a resumed transfer.
    public let completedBytes: Int64
    /// The number of bytes that this transfer has moved: ``completedBytes`` without an earlier part. After a new beginning,
    /// bytes that are moved again are counted again.
    public let transferredBytes: Int64
    /// The total number of bytes; `nil` if it is unknown.
    public let totalBytes: Int64?
    /// The speed of the transfer in bytes per second: a moving average over about two seconds, and in the last value the average
    /// of the complete transfer; `nil` if there is no measurement yet.
    public let bytesPerSecond: Double?
    /// The time since the transfer began.
    public let elapsed: Duration

    /// Creates the progress at one moment. Without `transferredBytes`, this transfer has moved all completed bytes.
    public init(
        completedBytes: Int64, transferredBytes: Int64? = nil, totalBytes: Int64?, bytesPerSecond: Double? = nil,
        elapsed: Duration = .zero
    ) {
        self.completedBytes = completedBytes
        self.transferredBytes = transferredBytes ?? completedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
        self.elapsed = elapsed
    }

    /// The completed fraction, from 0 to 1; `nil` if the total is unknown.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return completedBytes >= totalBytes ? 1 : max(0, Double(completedBytes) / Double(totalBytes))
    }

    /// The estimated time for the remaining bytes at the current speed; `nil` if the total is unknown, or no bytes move.
    public var estimatedTimeLeft: Duration? {
        guard let totalBytes else { return nil }
        guard completedBytes < totalBytes else { return .zero }
        guard let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        // The estimate is at most a century.
        return .seconds(min((Double(totalBytes) - Double(completedBytes)) / bytesPerSecond, 3_153_600_000))
    }
}
