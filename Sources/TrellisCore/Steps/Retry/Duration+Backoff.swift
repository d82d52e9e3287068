extension Duration {
    /// Returns the span of an exponential backoff, which begins with this duration and grows with every failure in a row.
    ///
    /// - Parameters:
    ///   - factor: The factor for each further failure.
    ///   - failures: The number of failures in a row; the first one leaves the span as it is.
    ///   - limit: The largest span.
    package func backoff(by factor: Double = 2, after failures: Int, upTo limit: Duration) -> Duration {
        let factor = factor.isFinite ? max(factor, 1) : 1
        var span = min(max(self, .zero), limit)
        for _ in 1..<max(failures, 1) where span > .zero && span < limit {
            // The product could be more than a `Duration` can hold.
            span = span < limit / factor ? min(span * factor, limit) : limit
        }
        return max(span, .zero)
    }
}
