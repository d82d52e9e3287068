extension Duration {
    /// Returns the span of an exponential backoff, which begins with this duration and grows with every failure in a row.
    ///
    /// - Parameters:
    ///   - factor: The factor for each further failure.
    ///   - failures: The number of failures in a row; the first one leaves the span as it is.
    ///   - limit: The largest span.
    package func backoff(by factor: Double = 2, after failures: Int, upTo limit: Duration) -> Duration {
        // The factor is limited, or the product could be more than a `Duration` can hold.
        let factor = factor.isFinite ? min(max(factor, 1), 1e6) : 1
        var span = min(max(self, .zero), limit)
        for _ in 1..<max(failures, 1) where span < limit { span = min(span * factor, limit) }
        return max(span, .zero)
    }
}
