import CMeasure
import FoundationEssentials
import Synchronization

/// The loop of `get`, `headers` and `json`: `concurrency` tasks, each of which sends its next request after the previous response.
struct ClosedLoop<C: Client>: Sendable {
    let client: C
    let work: Work
    private let turns = Turns()
    private let failures = Turns()

    init(client: C, work: Work) {
        self.client = client
        self.work = work
    }

    func run() async throws {
        try await withTaskExecutorPreference(work.onExecutor ? client.executor : nil) {
            _ = try await phase(seconds: work.warmUpSeconds, requests: work.requests > 0 ? work.concurrency : 0)
            let counters = client.engineCounters
            let failed = failures.count
            var report = Report()
            let latencies = try await phase(seconds: work.seconds, requests: work.requests)
            report.stop()
            report.print(
                requests: latencies.count, latencies: latencies,
                ownFigures: EngineCounters.figures(from: counters, to: client.engineCounters)
                    + (work.countsFailures ? "\"errors\":\(failures.count - failed)," : ""))
        }
    }

    /// Runs all tasks for `seconds`, or for `requests` requests if that is not 0. Returns the latencies in ms.
    private func phase(seconds: Double, requests: Int) async throws -> [Float] {
        let end = requests > 0 ? UInt64.max : measure_now_ns() + UInt64(seconds * 1e9)
        return try await withThrowingTaskGroup(of: [Float].self) { group in
            for index in 0..<work.concurrency {
                let share = (requests + index) / work.concurrency
                group.addTask { try await worker(end: end, requests: requests > 0 ? share : .max) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func worker(end: UInt64, requests: Int) async throws -> [Float] {
        var latencies: [Float] = []
        let orders = work.kind == .json ? OrderDesk() : nil
        while latencies.count < requests {
            let start = measure_now_ns()
            try await request(orders, identifier: 100_000 + latencies.count)
            let now = measure_now_ns()
            latencies.append(Float(now - start) / 1e6)
            if now >= end { break }
        }
        return latencies
    }

    private func request(_ orders: OrderDesk?, identifier: Int) async throws {
        switch work.kind {
        case .json:
            guard let orders else { return }
            try orders.check(try await client.post(orders.encoded(identifier: identifier), to: work.url))
        case .headers:
            let length = try await client.getReadingHeaders(work.url)
            guard length > 30 * 2 else { throw UnexpectedAnswer("headers of \(length) bytes") }
        default:
            do {
                let length = try await client.get(url)
                guard length == work.bodyLength else { throw UnexpectedAnswer("a body of \(length) bytes") }
            } catch  where work.countsFailures {
                _ = failures.next
            }
        }
    }
}

extension ClosedLoop {
    /// The URL of the next request.
    private var url: String {
        if work.hasUnlikeURLs { return "\(work.url)?\(turns.next)" }
        return work.urls.count == 1 || work.kind == .fleetGet ? work.url : turns.next(of: work.urls)
    }
}

/// A counter of requests, which shares them out among the origins.
private final class Turns: Sendable {
    private let taken = Atomic(0)

    /// The number of the next request.
    var next: Int { taken.add(1, ordering: .relaxed).oldValue }

    /// The number of requests so far.
    var count: Int { taken.load(ordering: .relaxed) }

    func next(of urls: [String]) -> String { urls[next % urls.count] }
}
