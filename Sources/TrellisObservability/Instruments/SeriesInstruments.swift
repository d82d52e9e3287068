#if Observability
import CoreMetrics
import CurlEngine

/// The instruments of a series.
final class SeriesInstruments: Sendable {
    let duration: Timer?
    let requestBodySize: Recorder?
    let responseBodySize: Recorder?
    let active: Meter?
    let queue: Timer?
    let count: Counter?
    let openConnections: Meter?
    let connectionDuration: Timer?
    /// The instruments of the outcomes that requests with this beginning had first; `nil` if the series is not one of a beginning.
    private let outcomes: Locked<[Outcome]>?

    private typealias Outcome = (kind: Series.Kind, instruments: SeriesInstruments)
    /// The number of outcomes that are kept with a beginning. Most servers have fewer.
    private static let maximumOutcomeCount = 8

    init(_ series: Series, _ factory: any MetricsFactory, settings: Observability) {
        let (metrics, dimensions) = (settings.metrics, series.dimensions(omittingEmpty: settings.omitsEmptyDimensions))
        func timer(_ label: String, _ isOn: Bool) -> Timer? {
            guard isOn else { return nil }
            return Timer(label: label, dimensions: dimensions, preferredDisplayUnit: .seconds, factory: factory)
        }
        func recorder(_ label: String, _ isOn: Bool) -> Recorder? {
            isOn ? Recorder(label: label, dimensions: dimensions, factory: factory) : nil
        }
        func counter(_ label: String, _ isOn: Bool) -> Counter? {
            isOn ? Counter(label: label, dimensions: dimensions, factory: factory) : nil
        }
        func meter(_ label: String, _ isOn: Bool) -> Meter? {
            isOn ? Meter(label: label, dimensions: dimensions, factory: factory) : nil
        }
        let (isStart, isEnd) = (series.kind.isStart, series.kind.isEnd)
        outcomes = isStart ? Locked<[Outcome]>([]) : nil
        duration = timer(MetricName.requestDuration, isEnd && metrics.contains(.requestDuration))
        requestBodySize = recorder(MetricName.requestBodySize, isEnd && metrics.contains(.requestBodySize))
        responseBodySize = recorder(MetricName.responseBodySize, isEnd && metrics.contains(.responseBodySize))
        queue = timer(MetricName.queueDuration, isStart && metrics.contains(.queueDuration))
        active = meter(MetricName.activeRequests, isStart && metrics.contains(.activeRequests))
        openConnections = meter(
            MetricName.openConnections, series.kind.isOfOpenConnections && metrics.contains(.openConnections))
        connectionDuration = timer(
            MetricName.connectionDuration, series.kind == .connectionEnd && metrics.contains(.connectionDuration))
        count =
            switch series.kind {
            case .start, .end, .connections, .connectionEnd: nil
            case .retry: counter(MetricName.retries, metrics.contains(.retries))
            case .cache: counter(MetricName.cacheResults, metrics.contains(.cacheResults))
            }
    }

    /// Returns the instruments of an outcome of requests with this beginning; `nil` if they are not known.
    ///
    /// The few outcomes are compared, because the hash of a series, with its texts, takes longer.
    func outcome(_ kind: Series.Kind) -> SeriesInstruments? {
        outcomes?.withLock { outcomes in outcomes.first { $0.kind == kind }?.instruments }
    }

    func keep(_ instruments: SeriesInstruments, of kind: Series.Kind) {
        outcomes?.withLock { outcomes in
            if outcomes.count < Self.maximumOutcomeCount { outcomes.append((kind, instruments)) }
        }
    }
}

extension Series.Kind {
    fileprivate var isStart: Bool { if case .start = self { true } else { false } }
    fileprivate var isEnd: Bool { if case .end = self { true } else { false } }
    fileprivate var isOfOpenConnections: Bool { if case .connections = self { true } else { false } }
}
#endif
