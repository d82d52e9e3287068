import Trellis

/// The code of the page about performance.
struct PerformancePage {
    enum API { static let session = Session() }

    static func sendMany(_ urls: [String], _ session: Session) async throws {
        let bodies = try await session.map(urls, concurrency: 64) { session, url in try await session.data(url).0 }
        print(bodies.count)
    }

    func serve(_ urls: [String], with session: Session) async throws {
        let executors = session.executors  // one for each engine
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, url) in urls.enumerated() {
                let executor = executors[index % executors.count]
                group.addTask(executorPreference: executor) { _ = try await session.data(url) }
            }
            try await group.waitForAll()
        }
    }

    static func chooseEngines(_ configuration: inout SessionConfiguration, _ session: Session) {
        configuration.engines = .one  // a tool; .fixed(4) for a proxy on its own machine
        for engine in session.engineStatistics { print(engine.requestCount, engine.busyTime) }
    }
}
