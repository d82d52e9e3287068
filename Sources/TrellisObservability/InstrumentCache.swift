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
    fileprivate func outcome(_ kind: Series.Kind) -> SeriesInstruments? {
        outcomes?.withLock { outcomes in outcomes.first { $0.kind == kind }?.instruments }
    }

    fileprivate func keep(_ instruments: SeriesInstruments, of kind: Series.Kind) {
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

    /// Indicates whether the instruments of another source are those of the same factory, as far as factories have an identity.
    func hasFactory(of other: InstrumentSource) -> Bool { known === other.known }

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

    /// Returns the instruments of an outcome of a request.
    ///
    /// - Parameter beginning: The instruments of the beginning of the request, from this source.
    func instruments(
        of kind: Series.Kind, of request: ObservedRequest, after beginning: SeriesInstruments
    ) -> SeriesInstruments {
        if let found = beginning.outcome(kind) { return found }
        let made = instruments(of: request.series(kind))
        beginning.keep(made, of: kind)
        return made
    }
}

/// The instruments of a session, by the metrics factories that have made them.
final class InstrumentCache: Sendable {
    /// A factory, kept so that the identity of an object stays its own, and the instruments that the object has made; `nil` for a value.
    private struct Entry: Sendable {
        let factory: any MetricsFactory
        let known: InstrumentSource.Known?
        /// The identity of a factory that is an object.
        var id: ObjectIdentifier?
    }

    private struct State: Sendable {
        /// The factories that are objects.
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The factory of the last request.
        var latest: Entry?

        /// Returns the entry of a factory that is an object.
        mutating func entry(of factory: any MetricsFactory, _ id: ObjectIdentifier) -> Entry {
            if let entry = entries[id] { return entry }
            // A program that makes factories without end keeps only a few of them.
            if entries.count == InstrumentCache.maximumFactoryCount { entries = [:] }
            let entry = Entry(factory: factory, known: InstrumentSource.Known([:]), id: id)
            entries[id] = entry
            return entry
        }
    }

    /// The number of factories whose instruments are kept.
    private static let maximumFactoryCount = 16

    let settings: Observability
    private let bounds: Locked<SeriesBounds>
    private let state = Locked(State())
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
        if Self.isNoOp(factory) { return nil }
        if settings.metricsFactory != nil { return InstrumentSource(factory, fixed, self) }
        guard type(of: factory) is AnyClass else {
            state.withLock { $0.latest = Entry(factory: factory, known: nil) }
            return InstrumentSource(factory, nil, self)
        }
        let id = ObjectIdentifier(factory as AnyObject)
        let known = state.withLock { state in
            if let latest = state.latest, latest.id == id { return latest.known }
            let entry = state.entry(of: factory, id)
            state.latest = entry
            return entry.known
        }
        return InstrumentSource(factory, known, self)
    }

    private static func isNoOp(_ factory: any MetricsFactory) -> Bool {
        ObjectIdentifier(type(of: factory)) == ObjectIdentifier(NOOPMetricsHandler.self)
    }

    /// Indicates whether there is a ``latestSource``. No factory is retained, so that none is released on an engine thread.
    var hasLatestSource: Bool {
        settings.metricsFactory.map { !Self.isNoOp($0) } ?? state.withLock { $0.latest != nil }
    }

    /// The source of the last request that had one; `nil` if there was none.
    var latestSource: InstrumentSource? {
        if settings.metricsFactory != nil { return source() }
        return state.withLock { $0.latest }.map { InstrumentSource($0.factory, $0.known, self) }
    }

    func bounded(_ series: Series) -> Series { bounds.withLock { $0.bounded(series) } }

    func bounded(_ server: ServerAddress) -> ServerAddress { bounds.withLock { $0.bounded(server) } }
}
#endif
