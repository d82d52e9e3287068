import Trellis

/// What became of a request, whole or up to its failure.
struct Outcome {
    /// The URL that was asked for, or that of the final answer with the fragment that it has inherited.
    var url: String
    var response: Response?
    var metrics = Metrics()
    var failure: RequestFailure?

    private let fragment: String?

    init(url: String) {
        self.url = url
        fragment = url[...].cut(at: "#").map { String($0.after) }
    }

    /// The head has come, or the end.
    mutating func take(_ response: Response) {
        self.response = response
        // A redirect without a fragment leaves the one before (RFC 9110, section 10.2.2).
        let fragment = response.redirects.isEmpty ? self.fragment : response.redirects.last?.fragment
        url = response.url + (fragment.map { "#\($0.percentEncoded)" } ?? "")
        metrics = response.metrics
    }

    /// What it took in the end, if that is known.
    mutating func take(_ metrics: Metrics?) {
        if let metrics { self.metrics = metrics }
    }

    /// It failed. The error of a cancelled task, and that of a body that is not what it is read as, bring no metrics: then
    /// there are those up to the head.
    mutating func fail(_ failure: RequestFailure, after elapsed: Duration) {
        self.failure = failure
        if let known = failure.metrics, known.attempts > 0 || response == nil {
            metrics = known
        } else {
            metrics.total = elapsed
            self.failure?.attempts = max(failure.attempts, metrics.attempts)
        }
        guard response == nil else { return }
        response = failure.response
        if let known = failure.url { url = known }
    }
}
