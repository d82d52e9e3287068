import Trellis

/// The outcome of a request, complete or up to its failure.
struct Outcome {
    /// The URL of the request, or of the final response, with the fragment that the redirects pass on.
    var url: String
    var response: Response?
    var metrics = Metrics()
    /// The number of bytes of the body that came, decoded.
    var bodySize: Int64 = 0
    var failure: RequestFailure?

    /// The exit status of the tool.
    var exitStatus: CInt { failure?.exitStatus ?? ExitStatus.done }

    /// The fragment of the URL of the request.
    private let fragment: String?

    init(url: String) {
        self.url = url
        fragment = url[...].cut(at: "#").map { String($0.after) }
    }

    /// Stores the response, when its head or its end has arrived.
    mutating func take(_ response: Response) {
        self.response = response
        // A redirect without a fragment keeps the previous fragment (RFC 9110, section 10.2.2).
        let fragment = response.redirects.isEmpty ? self.fragment : response.redirects.last?.fragment
        url = response.url + (fragment.map { "#\($0.percentEncoded)" } ?? "")
        metrics = response.metrics
    }

    /// Stores the final metrics, if they are known.
    mutating func take(_ metrics: Metrics?) {
        if let metrics { self.metrics = metrics }
    }

    /// Stores a failure. The error of a cancelled task has no metrics, and neither has that of a body that cannot be decoded; the metrics
    /// up to the head then remain.
    mutating func fail(_ failure: RequestFailure, after elapsed: Duration) {
        self.failure = failure
        if let known = failure.metrics, known.attemptCount > 0 || response == nil {
            metrics = known
        } else {
            metrics.total = elapsed
            self.failure?.attempts = max(failure.attempts, metrics.attemptCount)
        }
        guard response == nil else { return }
        response = failure.response
        if let known = failure.url { url = known }
    }
}
