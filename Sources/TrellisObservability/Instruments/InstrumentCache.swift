#if Observability
import CoreMetrics
import CurlEngine
import Synchronization

/// The instruments of a session, by the metrics factories that have made them.
final class InstrumentCache: Sendable {
    private struct State: Sendable {
        /// The sources of the factories that are objects.
        var sources: [ObjectIdentifier: InstrumentSource] = [:]
        /// The source of the last request that had one.
        var latest: InstrumentSource?

        /// Returns the source of a factory that is an object.
        mutating func source(
            _ factory: any MetricsFactory, id: ObjectIdentifier, _ bounds: InstrumentBounds
        ) -> InstrumentSource {
            if let source = sources[id] { return source }
            // A program that makes factories without end keeps only a few of them.
            if sources.count == InstrumentCache.maximumFactoryCount { sources = [:] }
            let source = InstrumentSource(factory, id: id, keeps: true, bounds)
            sources[id] = source
            return source
        }
    }

    /// The number of factories whose instruments are kept.
    private static let maximumFactoryCount = 16

    private let bounds: InstrumentBounds
    /// Whether the settings have a factory.
    private let isFixed: Bool
    /// The source of the factory of the settings; `nil` if they have none, or one that does nothing.
    private let fixed: InstrumentSource?
    private let state = Locked(State())
    /// Whether a request had another source than the settings'. It stays so.
    private let hasLatest = Atomic(false)
    /// The number of times that a request had another factory than the one before.
    private let switches = Atomic(0)

    init(_ settings: Observability) {
        let bounds = InstrumentBounds(settings)
        self.bounds = bounds
        isFixed = settings.metricsFactory != nil
        fixed = settings.recordingFactory.map { InstrumentSource($0, id: nil, keeps: true, bounds) }
    }

    /// Whether requests may have a source: metrics are on, and the settings have no factory that does nothing.
    var mayHaveSources: Bool { !bounds.settings.metrics.isEmpty && (!isFixed || fixed != nil) }

    /// Returns the source of the current task's instruments; `nil` if nothing is recorded.
    func source() -> InstrumentSource? {
        guard !bounds.settings.metrics.isEmpty else { return nil }
        if isFixed { return fixed }
        let factory = MetricsSystem.factory
        if Observability.isNoOp(factory) { return nil }
        return source(of: factory)
    }

    /// Returns the source of the current task's factory.
    private func source<Factory: MetricsFactory>(of factory: Factory) -> InstrumentSource {
        defer { hasLatest.store(true, ordering: .relaxed) }
        guard let id = ObjectIdentifier(ofObject: factory) else {
            let source = InstrumentSource(factory, id: nil, keeps: false, bounds)
            let earlier = state.withLock { state in
                defer { state.latest = source }
                return state.latest
            }
            // One value cannot be distinguished from another.
            if earlier?.id != nil { switches.add(1, ordering: .relaxed) }
            return source
        }
        return state.withLock { state in
            if let latest = state.latest, latest.id == id { return latest }
            let source = state.source(factory, id: id, bounds)
            if state.latest != nil { switches.add(1, ordering: .relaxed) }
            state.latest = source
            return source
        }
    }

    /// Whether there is a ``latestSource``. No factory is retained, so that none is released on an engine thread.
    var hasLatestSource: Bool { isFixed ? fixed != nil : hasLatest.load(ordering: .relaxed) }

    /// The source of the last request that had one; `nil` if there was none.
    var latestSource: InstrumentSource? { isFixed ? source() : state.withLock { $0.latest } }

    /// The number of times that a request had another factory than the one before.
    var switchCount: Int { switches.load(ordering: .relaxed) }

    func bounded(_ server: ServerAddress) -> ServerAddress { bounds.bounded(server) }
}
#endif
