import Glibc

/// A runner of benchmarks. All clients do the same work in turns: A B C A B C …
struct Runner {
    private let launcher: Launcher
    private let rounds: Int
    /// The clients that are requested and can run here.
    private let present: Set<Client>
    /// The clients and benchmarks that were left out, one line each, with the reason.
    private(set) var leftOut: [String] = []
    /// Whether Trellis or the C program has failed.
    private(set) var hasFailed = false

    init(_ launcher: Launcher, _ benchmarks: [Benchmark]) {
        self.launcher = launcher
        rounds = launcher.effort.rounds
        let wanted = launcher.options.clients.intersection(benchmarks.flatMap(\.clients))
        present = wanted.filter { launcher.absence(of: $0) == nil }
        for client in Client.allCases where wanted.contains(client) {
            if let reason = launcher.absence(of: client) { leaveOut("\(client.rawValue): \(reason)") }
        }
    }

    /// Runs a benchmark, and returns the medians of each client, in the clients' order.
    ///
    /// - Parameter instructionRounds: The rounds in which instructions are counted; `nil`, the default, for those of the effort.
    mutating func run(_ benchmark: Benchmark, _ servers: Servers, instructionRounds: Int? = nil) -> [Row] {
        for (client, reason) in benchmark.without where present.contains(client) {
            leaveOut(client, benchmark, reason)
        }
        let clients = benchmark.clients.filter(present.contains)
        guard fileLimit() >= benchmark.openFiles else {
            let facts = "needs \(benchmark.openFiles) open files, only \(fileLimit()) are allowed (ulimit -Hn)"
            leaveOut("\(benchmark.name): \(facts)")
            return []
        }
        if let reason = launcher.lackOfRoom(for: benchmark) {
            leaveOut("\(benchmark.name): \(reason)")
            return []
        }
        defer { if benchmark.shape == .opening { launcher.removeCaches() } }
        do {
            try servers.prepare(for: benchmark)
            if benchmark.shape == .opening, let client = clients.first {
                try launcher.fillCache(client, benchmark, servers)
            }
        } catch {
            leaveOut("\(benchmark.name): \(error)")
            hasFailed = true
            return []
        }
        return benchmark.shape == .instructions
            ? takeTurns(benchmark, clients, rounds: instructionRounds ?? launcher.effort.instructionRounds) {
                launcher, client in
                try launcher.instructionsPerRequest(client, benchmark, servers)
            }.map { Row(benchmark, $0, instructionsPerRequest: $1) }
            : takeTurns(benchmark, clients, rounds: rounds) { launcher, client in
                try launcher.run(client, benchmark, servers)
            }.map { Row(benchmark, $0, $1) }
    }

    /// Returns the results of all rounds of each client. A client that fails takes no further turn and has no results.
    private mutating func takeTurns<Result>(
        _ benchmark: Benchmark, _ clients: [Client], rounds: Int, run: (Launcher, Client) throws -> Result
    ) -> [(Client, [Result])] {
        var results: [Client: [Result]] = [:]
        var clients = clients
        for _ in 0..<rounds {
            for client in clients {
                do {
                    results[client, default: []].append(try run(launcher, client))
                } catch {
                    leaveOut(client, benchmark, "\(error)")
                    hasFailed = hasFailed || client == .trellis || client == .libcurl
                    clients.removeAll { $0 == client }
                }
            }
        }
        return clients.map { ($0, results[$0] ?? []) }
    }

    private mutating func leaveOut(_ client: Client, _ benchmark: Benchmark, _ reason: String) {
        leaveOut("\(benchmark.name): \(client.rawValue): \(reason)")
    }

    private mutating func leaveOut(_ what: String) {
        leftOut.append(what)
        note("left out: \(what)")
    }
}

/// Returns the number of files that a process may have open.
private func fileLimit() -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_max)
}
