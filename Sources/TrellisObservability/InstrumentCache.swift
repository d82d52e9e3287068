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

    init(_ series: Series, _ factory: any MetricsFactory, _ settings: Observability) {
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
        let (isStart, isEnd) = (series.kind.isStart, series.kind.isEnd)
        duration = timer(MetricName.requestDuration, isEnd && metrics.contains(.requestDuration))
        requestBodySize = recorder(MetricName.requestBodySize, isEnd && metrics.contains(.requestBodySize))
        responseBodySize = recorder(MetricName.responseBodySize, isEnd && metrics.contains(.responseBodySize))
        queue = timer(MetricName.queueDuration, isStart && metrics.contains(.queueDuration))
        active =
            isStart && metrics.contains(.activeRequests)
            ? Meter(label: MetricName.activeRequests, dimensions: dimensions, factory: factory) : nil
        count =
            switch series.kind {
            case .start, .end: nil
            case .retry: counter(MetricName.retries, metrics.contains(.retries))
            case .cache: counter(MetricName.cacheResults, metrics.contains(.cacheResults))
            }
    }
}

extension Series.Kind {
    fileprivate var isStart: Bool { if case .start = self { true } else { false } }
    fileprivate var isEnd: Bool { if case .end = self { true } else { false } }
}

/// The source of the instruments of one metrics factory.
struct InstrumentSource: Sendable {
    typealias Known = Locked<[Series: SeriesInstruments]>

    fileprivate let factory: any MetricsFactory
    /// The instruments that were made; `nil` if they are made for each request.
    fileprivate let known: Known?
    private let cache: InstrumentCache

    fileprivate init(_ factory: any MetricsFactory, _ known: Known?, _ cache: InstrumentCache) {
        (self.factory, self.known, self.cache) = (factory, known, cache)
    }

    /// Returns the instruments of a series, or those of the series that takes its place.
    func instruments(of series: Series) -> SeriesInstruments {
        if let found = known?.withLock({ $0[series] }) { return found }
        let series = cache.bounded(series)
        if let found = known?.withLock({ $0[series] }) { return found }
        // The factory is not called inside the lock. Two tasks that make the same instruments get the same handlers from it.
        let made = SeriesInstruments(series, factory, cache.settings)
        known?.withLock { $0[series] = made }
        return made
    }
}

/// The instruments of a session, by the metrics factories that have made them.
final class InstrumentCache: Sendable {
    /// A factory that is an object, kept so that its identity stays its own, and the instruments that it has made.
    private struct Entry: Sendable {
        let factory: any MetricsFactory
        let known: InstrumentSource.Known
    }

    /// The number of factories whose instruments are kept.
    private static let maximumFactoryCount = 16

    let settings: Observability
    private let bounds: Locked<SeriesBounds>
    private let entries = Locked<[ObjectIdentifier: Entry]>([:])
    /// The instruments of the factory of the settings.
    private let fixed = InstrumentSource.Known([:])

    init(_ settings: Observability) {
        self.settings = settings
        bounds = Locked(SeriesBounds(settings))
    }

    /// Returns the source of the current task's instruments; `nil` if nothing is recorded.
    func source() -> InstrumentSource? {
        guard !settings.metrics.isEmpty else { return nil }
        let factory = settings.metricsFactory ?? MetricsSystem.factory
        let kind = type(of: factory)
        if ObjectIdentifier(kind) == ObjectIdentifier(NOOPMetricsHandler.self) { return nil }
        if settings.metricsFactory != nil { return InstrumentSource(factory, fixed, self) }
        guard kind is AnyClass else { return InstrumentSource(factory, nil, self) }
        let id = ObjectIdentifier(factory as AnyObject)
        let known = entries.withLock { entries in
            if let entry = entries[id] { return entry.known }
            // A program that makes factories without end keeps only a few of them.
            if entries.count == Self.maximumFactoryCount { entries = [:] }
            let entry = Entry(factory: factory, known: InstrumentSource.Known([:]))
            entries[id] = entry
            return entry.known
        }
        return InstrumentSource(factory, known, self)
    }

    func bounded(_ series: Series) -> Series { bounds.withLock { $0.bounded(series) } }
}
#endif
