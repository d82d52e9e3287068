/// How fast bodies may go in one direction.
///
/// The limit holds over time: for a moment a transfer may be faster, by ``burst``, and by what is in a buffer of the system. It
/// counts the bytes of bodies as they go over the wire, not those of heads.
public struct BandwidthLimit: Sendable, Hashable {
    /// Bytes in a second; at least one.
    public let bytesPerSecond: Int
    /// How many bytes may go at once after a rest; at least one.
    public let burst: Int

    /// A limit.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: Bytes in a second; at least one.
    ///   - burst: How many bytes may go at once after a rest; as many as come in a tenth of a second unless given.
    public init(bytesPerSecond: Int, burst: Int? = nil) {
        self.bytesPerSecond = max(bytesPerSecond, 1)
        self.burst = max(burst ?? self.bytesPerSecond / 10, 1)
    }

    /// How many bytes a transfer is allowed at a time: so few that those that share a limit take turns, so many that turns are
    /// not all they do.
    package var quantum: Int { max(min(bytesPerSecond / 20, burst, 256 << 10), 1) }
}

/// The limits on bandwidth in both directions.
public struct BandwidthLimits: Sendable, Hashable {
    /// On the bodies of requests; `nil`: none.
    public var upload: BandwidthLimit?
    /// On the bodies of answers; `nil`: none.
    public var download: BandwidthLimit?

    /// Limits; none unless given.
    public init(upload: BandwidthLimit? = nil, download: BandwidthLimit? = nil) {
        self.upload = upload
        self.download = download
    }

    package var isEmpty: Bool { upload == nil && download == nil }
}
