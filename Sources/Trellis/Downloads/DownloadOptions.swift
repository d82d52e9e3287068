/// How a download is done. The defaults are for one that survives what networks do.
public struct DownloadOptions: Sendable, Hashable {
    /// Whether a partial file that an earlier download left at the same place is gone on with, where it is certain that it
    /// belongs to the same file; `true` unless set.
    public var resumesPartialFile = true
    /// Whether a partial file that can be gone on with stays when the download fails or is cancelled; `true` unless set. Others
    /// never stay, and neither does that of ``DownloadDestination/temporary``, unless ``ResumeData`` was asked for.
    public var keepsPartialFile = true
    /// How often in a row the download goes on after an interruption without anything having come in between; 5 unless set.
    /// An attempt that brings something does not count. 0: an interruption is an error. Where nothing that comes can be kept, because
    /// the server has no strong validator or serves no ranges, two are enough.
    public var maximumFailures = 5
    /// How often in all the download goes on after an interruption, whatever came in between; unless set, ``maximumFailures`` decides,
    /// and if set, this alone does. 0: an interruption is an error.
    public var maximumInterruptions: Int?
    /// Whether the digest that a server sends along is checked (`Repr-Digest` and `Content-Digest`, RFC 9530), where it is one
    /// of SHA-256 and SHA-512; `true` unless set. It may come behind the body, as a trailer field: HTTP/1.1 has those with chunks.
    public var verifiesDigestFields = true
    /// Over how many connections parts of the file come at the same time, where the server serves parts, and as far as
    /// ``ConnectionLimits/perOrigin`` allows; 1 unless set. Over HTTP/2 and HTTP/3 they are streams of one connection.
    public var connections = 1

    /// The defaults.
    public init() {}
}
