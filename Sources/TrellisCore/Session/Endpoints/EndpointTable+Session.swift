import CurlEngine

extension EndpointTable {
    /// Creates the table of a session; `nil` if no origin has several endpoints.
    convenience init?(
        _ configuration: SessionConfiguration, _ engines: SessionEngines, routes: RouteTable, clock: any EngineClock
    ) {
        guard !configuration.endpoints.isEmpty else { return nil }
        self.init(configuration.endpoints) { pool, url in
            let feed: (any EndpointFeed)? =
                switch pool.source {
                case .fixed: nil
                case .addresses(let name, let port, let interval):
                    EndpointLookups(every: interval, clock: clock) {
                        try await routes.endpoints(named: name, port: port, clock: clock)
                    }
                case .discovery(let discovery):
                    EndpointObservation(discovery) { [weak engines] time in
                        guard let executor = engines?.timekeeper.executor else { return false }
                        return (try? await executor.delay(for: time)) ?? false
                    }
                }
            return EndpointGroup(pool, origin: url.origin, feed: feed) { [weak engines] left in
                let numbers = routes.numbers(to: left, of: url)
                guard !numbers.isEmpty else { return }
                for engine in engines?.all ?? [] { engine.site.retireConnections(to: url.origin, by: numbers) }
            }
        }
    }
}
