/// The rules by which an endpoint that fails gets no requests for a time (outlier detection).
///
/// Failures are those of a ``CircuitBreaker``: connections that cannot be made or are lost, silent servers, and the statuses 500, 502, 503
/// and 504; and besides them a server that is not the origin's: an untrusted certificate, and the status 421.
///
/// When the time is over, the endpoint gets one request. Its success lets the endpoint return; its failure ejects it for longer.
public struct EndpointEjection: Sendable, Hashable {
    /// The number of failures in a row that eject an endpoint; `nil` if their number does not. The default is 5; a value less than 1 is
    /// taken as 1.
    public var consecutiveFailures: Int? = 5
    /// The ratio of failures within ``window`` that ejects an endpoint, from 0 to 1; `nil` if the ratio does not. The default is 0.5.
    public var failureRatio: Double? = 0.5
    /// The number of requests within the window below which the ratio means nothing. The default is 20.
    public var minimumRequests = 20
    /// The length of time for which requests count in the ratio. The default is 10 seconds.
    public var window = Duration.seconds(10)
    /// The time for which an endpoint is ejected at first. It doubles with each further ejection, until the endpoint has worked for as long
    /// as it was ejected. The default is 10 seconds.
    public var duration = Duration.seconds(10)
    /// The longest time for which an endpoint is ejected. The default is 5 minutes.
    public var maximumDuration = Duration.seconds(300)
    /// The largest share of the endpoints that are ejected at a time, from 0 to 1. An endpoint beyond it stays, however much it fails. The
    /// default is 0.5.
    public var maximumShare = 0.5

    /// Creates rules with the default values.
    public init() {}

    /// Returns how many of some endpoints may be ejected at a time.
    func limit(of count: Int) -> Int {
        let share = maximumShare.isNaN ? 0.5 : min(max(maximumShare, 0), 1)
        return Int(Double(count) * share)
    }
}
