import Testing

@testable import TrellisCore

/// Clients with a concurrency limit before a model of a server: in virtual time, with the same numbers in each run.
struct ConcurrencySimulationTests {
    static let algorithms = [AdaptiveConcurrency.Algorithm.aimd, .gradient()]

    static func rules(
        _ algorithm: AdaptiveConcurrency.Algorithm, _ change: (inout ConcurrencyRules) -> Void = { _ in }
    ) -> ConcurrencyRules {
        var rules = ConcurrencyRules(algorithm: algorithm)
        change(&rules)
        return rules
    }

    static func model(
        _ algorithm: AdaptiveConcurrency.Algorithm, workers: Int = 20, queue: Int = 40, seed: UInt64 = 1
    ) -> ServerModel {
        var model = ServerModel(seed: seed)
        (model.workers, model.queueLimit) = (workers, queue)
        model.addClient(rules(algorithm))
        return model
    }

    static let servers = [(5, 10), (20, 40), (40, 1000), (80, 100)]

    /// The limit finds the point at which the server refuses requests, and stays there: hardly any request is refused.
    @Test(arguments: servers, [1, 2, 3] as [UInt64])
    func anAdditiveIncreaseFillsTheServerAndItsQueue(_ server: (workers: Int, queue: Int), _ seed: UInt64) {
        var model = Self.model(.aimd, workers: server.workers, queue: server.queue, seed: seed)
        model.run(for: 20)
        for _ in 0..<5 {
            model.run(for: 10)
            let client = model.clients[0]
            #expect(Double(client.served) > 0.95 * model.capacity * 10)
            #expect(client.refused * 20 < client.served)
            #expect((server.workers...server.workers + server.queue + 1).contains(client.meanLimit))
        }
    }

    /// The limit finds the number of requests that the server works on, and stays near it, however long the server's queue may be.
    @Test(arguments: servers, [1, 2, 3] as [UInt64])
    func aGradientFillsTheServerAndNotItsQueue(_ server: (workers: Int, queue: Int), _ seed: UInt64) {
        var model = Self.model(.gradient(), workers: server.workers, queue: server.queue, seed: seed)
        model.run(for: 20)
        for _ in 0..<5 {
            model.run(for: 10)
            let client = model.clients[0]
            #expect(Double(client.served) > 0.93 * model.capacity * 10)
            #expect(client.refused == 0)
            #expect((server.workers...server.workers * 9 / 4).contains(client.meanLimit))
        }
    }

    @Test(arguments: algorithms, [1, 2, 3] as [UInt64])
    func aClientThatComesLaterGetsItsShare(_ algorithm: AdaptiveConcurrency.Algorithm, _ seed: UInt64) {
        var model = Self.model(algorithm, seed: seed)
        model.run(for: 30)
        model.addClient(Self.rules(algorithm) { $0.initial = 1 })
        model.run(for: 60)
        model.run(for: 120)
        let served = model.clients.map { Double($0.served) }
        #expect(served.reduce(0, +) > 0.95 * model.capacity * 120)
        #expect(served[0] < 1.5 * served[1] && served[1] < 1.5 * served[0])
    }

    enum Outage: CaseIterable { case refusal, silence }

    /// During an outage, one request after the other shows whether it is over, and soon after it all requests are answered again.
    @Test(arguments: algorithms, Outage.allCases)
    func theLimitComesBackAfterAnOutage(_ algorithm: AdaptiveConcurrency.Algorithm, _ outage: Outage) {
        var model = Self.model(algorithm)
        model.run(for: 30)
        (model.isOut, model.isSilent) = (outage == .refusal, outage == .silence)
        model.run(for: 120)
        #expect(model.clients[0].limit.limit == 1)
        (model.isOut, model.isSilent) = (false, false)
        // What was sent into the silence is given up at first.
        if outage == .silence { model.run(for: model.timeout) }
        model.run(for: 3)
        model.run(for: 10)
        #expect(Double(model.clients[0].served) > 0.93 * model.capacity * 10)
    }

    @Test(arguments: algorithms)
    func aServerThatAsksForPausesGetsFewRequests(_ algorithm: AdaptiveConcurrency.Algorithm) {
        var model = Self.model(algorithm)
        model.run(for: 30)
        (model.isOut, model.retryAfter) = (true, .seconds(2))
        model.run(for: 60)
        // The requests in flight at first, and those of thirty rounds, which soon are one at a time.
        #expect((30..<300).contains(model.clients[0].refused))
        (model.isOut, model.retryAfter) = (false, nil)
        model.run(for: 5)
        model.run(for: 10)
        #expect(Double(model.clients[0].served) > 0.93 * model.capacity * 10)
    }

    /// A limit that is not reached proves nothing, so it stays near what was used.
    @Test(arguments: algorithms, [5, 30])
    func aClientWithLittleToSendKeepsItsLimit(_ algorithm: AdaptiveConcurrency.Algorithm, _ demand: Int) {
        var model = ServerModel()
        model.workers = 100
        model.addClient(Self.rules(algorithm), demand: demand)
        model.run(for: 300)
        #expect(model.clients[0].refused == 0)
        #expect(model.clients[0].limit.limit <= max(demand * 2, 20))
    }

    /// The base latency is measured again, so that a server that has become slower or faster is not taken for one under load or idle.
    @Test(arguments: [0.1, 0.02])
    func aGradientLearnsANewLatency(_ serviceTime: Double) throws {
        var model = Self.model(.gradient())
        model.run(for: 30)
        model.serviceTime = serviceTime
        model.run(for: 60)
        model.run(for: 20)
        let base = try #require(model.clients[0].limit.baseLatency) / 1e9
        #expect(base > 0.8 * serviceTime && base < 1.3 * serviceTime)
        #expect(Double(model.clients[0].served) > 0.93 * model.capacity * 20)
    }
}
