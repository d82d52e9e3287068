public import TrellisCore

/// A file that was downloaded: complete, checked, and at its destination.
public struct DownloadedFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The size of the file in bytes.
    public let size: Int64
    /// The number of bytes that were there before: from an earlier download, see ``ResumeData``, or all bytes of an existing
    /// file.
    public let resumedBytes: Int64
    /// Whether the file was at the destination before, had the right digest, and was kept: see
    /// ``DownloadDestination/Options/keepIfItMatches``.
    public let isExisting: Bool
    /// The response whose body is the file; the last one if several were needed.
    ///
    /// An existing file that was kept without a request (``attemptCount`` is 0) has a response that no server has sent: a 304 (Not
    /// Modified) without fields, of the request's URL.
    public let response: Response
    /// The number of interruptions after which the download resumed by itself.
    public let interruptions: Int
    /// The metrics of all requests together: ``Metrics/attemptCount`` and bytes are sums, ``Metrics/total`` is the time from the
    /// call to the end, and the other values are the first response's.
    public let metrics: Metrics
}

extension DownloadedFile {
    /// The number of attempts: one for each part and each interruption, and retries; 0 for a file that was kept without a request.
    public var attemptCount: Int { metrics.attemptCount }

    /// The redirects that led to ``response``, in their order.
    public var redirects: [Redirect] { response.redirects }
}
