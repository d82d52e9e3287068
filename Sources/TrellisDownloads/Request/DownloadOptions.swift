import TrellisCore

/// The options of a download. By default, a download survives interruptions of the network.
public struct DownloadOptions: Sendable, Hashable {
    /// Whether to resume the partial file that an earlier download left at the same place, if that certainly belongs to
    /// the same file; `true` unless set.
    public var resumesPartialFile: Bool
    /// Whether to keep a partial file that can be resumed when the download fails or is cancelled; `true` unless set. A
    /// partial file that no later download finds by its destination is deleted in any case: one of
    /// ``DownloadDestination/temporary``, and one of a download to the same destination as another one under way.
    /// ``DownloadRequest/cancelProducingResumeData()`` keeps any partial file that can be resumed, whatever is set here.
    public var keepsPartialFile: Bool
    /// The number of further attempts in a row after interruptions, without any bytes in between that can be kept; 5 unless set.
    /// Bytes that can be kept begin the count again. Each of several ``connections`` has its own count. With 0, an interruption
    /// is an error. If no bytes can be kept, because the server has no strong validator or serves no ranges, there are at most
    /// two. Before the first accepted response there is none. Attempts that fail while ``NetworkReachability`` has the status
    /// ``NetworkReachability/Status/notReachable`` are not counted for two minutes, and the wait for the next one ends when the
    /// network is back.
    public var maximumFailures: Int
    /// The number of further attempts in all, with or without bytes in between. Unless set, ``maximumFailures`` decides; if set,
    /// this limit alone does. With 0, an interruption is an error.
    public var maximumInterruptions: Int?
    /// Whether to check the digest that a server sends along (`Repr-Digest` and `Content-Digest`, RFC 9530), if it is
    /// one of SHA-256 and SHA-512; `true` unless set. The digest may arrive after the body, as a trailer field: HTTP/1.1 has
    /// trailer fields with chunked bodies.
    public var verifiesDigestFields: Bool
    /// The number of connections over which parts of the file are downloaded at the same time, if the server serves parts, and as
    /// far as ``ConnectionLimits/perOrigin`` and ``ConnectionLimits/requestsPerOrigin`` allow; 1 unless set. Over HTTP/2 and HTTP/3 the
    /// parts are streams of one connection.
    public var connections: Int

    /// Creates options; options that are not given have their defaults.
    ///
    /// - Parameters:
    ///   - resumesPartialFile: Whether to resume the partial file of an earlier download.
    ///   - keepsPartialFile: Whether to keep a partial file that can be resumed.
    ///   - maximumFailures: The number of further attempts in a row without bytes that can be kept.
    ///   - maximumInterruptions: The number of further attempts in all; `nil` if `maximumFailures` decides.
    ///   - verifiesDigestFields: Whether to check the digest that a server sends along.
    ///   - connections: The number of connections over which parts of the file are downloaded.
    public init(
        resumesPartialFile: Bool = true, keepsPartialFile: Bool = true, maximumFailures: Int = 5,
        maximumInterruptions: Int? = nil, verifiesDigestFields: Bool = true, connections: Int = 1
    ) {
        self.resumesPartialFile = resumesPartialFile
        self.keepsPartialFile = keepsPartialFile
        self.maximumFailures = maximumFailures
        self.maximumInterruptions = maximumInterruptions
        self.verifiesDigestFields = verifiesDigestFields
        self.connections = connections
    }
}
