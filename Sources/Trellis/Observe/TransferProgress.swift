/// How far a transfer is, at one moment.
///
/// ```swift
/// for await progress in download.progress {
///     print(progress.completedBytes, progress.fraction ?? 0, progress.estimatedTimeLeft ?? .zero)
/// }
/// ```
public struct TransferProgress: Sendable, Hashable {
    /// Bytes that are done, those of an earlier part of a resumed transfer included.
    public let completedBytes: Int64
    /// Bytes in all, where that is known.
    public let totalBytes: Int64?
    /// How fast the transfer is: a moving average over about two seconds, and in the last value the average of the whole.
    /// `nil` until there is something to go by.
    public let bytesPerSecond: Double?
    /// Since the transfer began.
    public let elapsed: Duration

    /// A moment of a transfer.
    public init(completedBytes: Int64, totalBytes: Int64?, bytesPerSecond: Double? = nil, elapsed: Duration = .zero) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
        self.elapsed = elapsed
    }

    /// The part that is done, from 0 to 1; `nil` where the total is not known.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return completedBytes >= totalBytes ? 1 : max(0, Double(completedBytes) / Double(totalBytes))
    }

    /// How long the rest takes at this rate; `nil` where the total is not known, or nothing moves.
    public var estimatedTimeLeft: Duration? {
        guard let totalBytes else { return nil }
        guard completedBytes < totalBytes else { return .zero }
        guard let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        // A century is long enough.
        return .seconds(min((Double(totalBytes) - Double(completedBytes)) / bytesPerSecond, 3_153_600_000))
    }
}
