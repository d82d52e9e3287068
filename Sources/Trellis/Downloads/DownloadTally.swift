/// What a download has taken so far, over all of its requests. A value.
struct DownloadTally: Hashable, Sendable {
    /// How often it was interrupted and went on.
    var interruptions = 0
    /// The redirects of the request that ended last.
    private(set) var redirects: [Redirect] = []
    private var first: Metrics?
    private var attempts = 0
    private var bytesSent: Int64 = 0
    private var bytesReceived: Int64 = 0

    /// A request has been answered.
    mutating func begin(_ metrics: Metrics) { first = first ?? metrics }

    /// A request has ended.
    mutating func end(_ metrics: Metrics, _ redirects: [Redirect]) {
        begin(metrics)
        attempts += metrics.attempts
        bytesSent += metrics.bytesSent
        bytesReceived += metrics.bytesReceived
        self.redirects = redirects
    }

    /// Something has been asked.
    var hasAsked: Bool { first != nil }

    /// All of it together.
    func metrics(total: Duration) -> Metrics {
        var metrics = first ?? Metrics()
        metrics.attempts = attempts
        metrics.bytesSent = bytesSent
        metrics.bytesReceived = bytesReceived
        metrics.total = total
        return metrics
    }

    /// Tells what is true of the download rather than of one of its requests.
    func complete(_ error: inout TrellisError, total: Duration) {
        error.interruptions = interruptions
        error.metrics = metrics(total: total)
        if error.redirects.isEmpty { error.followed = redirects }
        if hasAsked, error.phase == .composing { error.phase = .receiving }
    }
}
