import Trellis

/// What became of a request, whole or up to its failure.
struct Outcome {
    var url: String
    var response: Response?
    var metrics = Metrics()
    var failure: RequestFailure?

    init(url: String) { self.url = url }

    /// The head has come, or the end.
    mutating func take(_ response: Response) {
        self.response = response
        url = response.url
        metrics = response.metrics
    }

    /// What it took in the end, if that is known.
    mutating func take(_ metrics: Metrics?) {
        if let metrics { self.metrics = metrics }
    }

    /// It failed. A cancelled task's error brings no metrics: then there are those up to the head.
    mutating func fail(_ failure: RequestFailure, after elapsed: Duration) {
        self.failure = failure
        if let known = failure.metrics { metrics = known } else { metrics.total = elapsed }
        guard response == nil else { return }
        response = failure.response
        if let known = failure.url { url = known }
    }
}
