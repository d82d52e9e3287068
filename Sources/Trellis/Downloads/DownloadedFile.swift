/// A file that was downloaded: complete, checked, and at its destination.
public struct DownloadedFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The size of the file in bytes.
    public let size: Int64
    /// The number of bytes that an earlier download had brought: see ``ResumeData``.
    public let resumedBytes: Int64
    /// The response whose body is the file; the last one where several were needed.
    public let response: Response
    /// The number of interruptions after which the download resumed by itself.
    public let interruptions: Int
    /// The metrics of all requests together: ``Metrics/attempts`` and bytes are sums, ``Metrics/total`` is the time from the call
    /// to the end, and the other values are those of the first response.
    public let metrics: Metrics
}

extension DownloadedFile {
    /// The number of attempts: one for each part and each interruption, and retries.
    public var attempts: Int { metrics.attemptCount }

    /// The redirects that led to ``response``, in their order.
    public var redirects: [Redirect] { response.redirects }
}
