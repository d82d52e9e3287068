#if Observability
import CoreMetrics
import CurlEngine

/// The source of the instruments of one metrics factory, which is retained, so that the identity of an object stays its own.
final class InstrumentSource: Sendable {
    /// The instruments that were made.
    private struct Known: Sendable {
        var series: [Series: SeriesInstruments] = [:]
        /// The instruments of the beginnings of requests, by the profiles of the latest ones, which are compared: the hash of a series,
        /// with its texts, takes longer.
        var beginnings: [Beginning] = []
    }

    private struct Beginning: Sendable {
        let profile: RequestProfile
        let instruments: SeriesInstruments
    }

    /// The identity of a factory that is an object; `nil` for a value.
    let id: ObjectIdentifier?
    private let factory: any MetricsFactory
    private let bounds: InstrumentBounds
    /// The instruments that were made; `nil` if they are made for each request.
    private let known: Locked<Known>?

    /// - Parameter keeps: Whether the instruments that are made are kept.
    init(_ factory: any MetricsFactory, id: ObjectIdentifier?, keeps: Bool, _ bounds: InstrumentBounds) {
        (self.factory, self.id, self.bounds) = (factory, id, bounds)
        known = keeps ? Locked(Known()) : nil
    }

    /// Returns whether the instruments of another source come from the same factory, as far as factories have an identity.
    func hasFactory(of other: InstrumentSource) -> Bool { known === other.known }

    /// Returns the instruments of a series, or of the series that replaces it.
    func instruments(of series: Series) -> SeriesInstruments {
        if let found = known?.withLock({ $0.series[series] }) { return found }
        let series = bounds.bounded(series)
        if let found = known?.withLock({ $0.series[series] }) { return found }
        // The factory is not called inside the lock. Two tasks that make the same instruments get the same handlers from it.
        let made = SeriesInstruments(series, factory, settings: bounds.settings)
        known?.withLock { $0.series[series] = made }
        return made
    }

    /// Returns the instruments of the beginning of requests with a profile.
    func beginning(of profile: RequestProfile) -> SeriesInstruments {
        let found = known?.withLock { known -> SeriesInstruments? in
            for beginning in known.beginnings where beginning.profile === profile { return beginning.instruments }
            return nil
        }
        if let found { return found }
        let made = instruments(of: profile.series(.start))
        known?.withLock { known in
            if known.beginnings.count == RequestProfiles.maximumCount { known.beginnings = [] }
            known.beginnings.append(Beginning(profile: profile, instruments: made))
        }
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

/// The bounds of a session's metrics, with its settings.
final class InstrumentBounds: Sendable {
    let settings: Observability
    private let bounds: Locked<SeriesBounds>

    init(_ settings: Observability) {
        self.settings = settings
        bounds = Locked(SeriesBounds(settings))
    }

    func bounded(_ series: Series) -> Series { bounds.withLock { $0.bounded(series) } }

    func bounded(_ server: ServerAddress) -> ServerAddress { bounds.withLock { $0.bounded(server) } }
}
#endif
