/// A file that was downloaded: whole, checked, in its place.
public struct DownloadedFile: Sendable {
    /// Where it is.
    public let path: String
    /// Its size in bytes.
    public let size: Int64
    /// How many of them an earlier download had brought: see ``ResumeData``.
    public let resumedBytes: Int64
    /// The response that it is the body of; the last one, where it took several.
    public let response: Response
    /// How often the download was interrupted, and went on by itself.
    public let interruptions: Int
    /// What all of its requests took together: ``Metrics/attempts`` and bytes are sums, ``Metrics/total`` is the time from the
    /// call to the end, and the rest is that of the first answer.
    public let metrics: Metrics
}

extension DownloadedFile {
    /// How often a request was started for it: one for each part and each interruption, and retries.
    public var attempts: Int { metrics.attempts }

    /// The redirects that led to ``response``, in their order.
    public var redirects: [Redirect] { response.redirects }
}
