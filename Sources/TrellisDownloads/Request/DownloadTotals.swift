import TrellisCore

/// The totals of a download so far, over all of its requests. A value.
struct DownloadTotals: Hashable, Sendable {
    /// The number of interruptions after which the download resumed.
    var interruptions = 0
    /// The redirects of the request that ended last.
    private(set) var redirects: [Redirect] = []
    /// The metrics of the first response, which supply all values that are not sums.
    private var first: Metrics?
    private var attempts = 0
    private var bytesSent: Int64 = 0
    private var bytesReceived: Int64 = 0

    /// Records the metrics of a response's head.
    mutating func begin(_ metrics: Metrics) { first = first ?? metrics }

    /// Records the end of a request.
    mutating func end(_ metrics: Metrics, _ redirects: [Redirect]) {
        begin(metrics)
        attempts += metrics.attemptCount
        bytesSent += metrics.bytesSent
        bytesReceived += metrics.bytesReceived
        self.redirects = redirects
    }

    /// Whether a request has been sent.
    var hasAsked: Bool { first != nil }

    /// Returns the metrics of all requests together.
    func metrics(total: Duration) -> Metrics {
        var metrics = first ?? Metrics()
        metrics.attemptCount = attempts
        metrics.bytesSent = bytesSent
        metrics.bytesReceived = bytesReceived
        metrics.total = total
        return metrics
    }

    /// Completes an error with the totals of the download, instead of a single request's.
    func complete(_ error: inout TrellisError, total: Duration) {
        error.interruptions = interruptions
        error.metrics = metrics(total: total)
        if error.redirects.isEmpty { error.followed = redirects }
        if hasAsked, error.phase == .composing { error.phase = .receiving }
    }
}
