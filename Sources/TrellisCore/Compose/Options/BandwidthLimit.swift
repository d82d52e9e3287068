/// The limit on the speed of bodies in one direction.
///
/// The limit is an average over time: a transfer may briefly be faster, by ``burst`` and by the contents of a system buffer. The
/// limit counts the bytes of bodies as they go over the wire, and does not count heads.
public struct BandwidthLimit: Sendable, Hashable {
    /// The speed in bytes per second; at least 1.
    public let bytesPerSecond: Int
    /// The number of bytes that may go at once after a pause; at least 1, and a tenth of ``bytesPerSecond`` unless given.
    public let burst: Int

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: The speed in bytes per second; a smaller value than 1 becomes 1.
    ///   - burst: The number of bytes that may go at once after a pause; by default a tenth of `bytesPerSecond`. A smaller value
    ///     than 1 becomes 1.
    public init(bytesPerSecond: Int, burst: Int? = nil) {
        self.bytesPerSecond = max(bytesPerSecond, 1)
        self.burst = max(burst ?? self.bytesPerSecond / 10, 1)
    }

    /// The number of bytes that a transfer is granted at a time: small enough that the transfers of a shared limit take turns,
    /// large enough that the turns cost little.
    package var quantum: Int { max(min(bytesPerSecond / 20, burst, 256 << 10), 1) }
}

/// The limits on the speed of bodies in both directions.
public struct BandwidthLimits: Sendable, Hashable {
    /// The limit on request bodies, if any.
    public var upload: BandwidthLimit?
    /// The limit on response bodies, if any.
    public var download: BandwidthLimit?

    /// Creates limits. A direction without an argument has no limit.
    public init(upload: BandwidthLimit? = nil, download: BandwidthLimit? = nil) {
        self.upload = upload
        self.download = download
    }

    /// Whether neither direction has a limit.
    package var isEmpty: Bool { upload == nil && download == nil }
}
