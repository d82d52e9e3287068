import Foundation

/// Runs benchmarks: every client does the same work in turns, A B C A B C …
struct Runner {
    let options: Options
    let effort: Effort
    private let commands: ClientCommand
    /// What was left out, and why; one line each.
    private(set) var leftOut: [String] = []
    /// Whether Trellis or the C program failed.
    private(set) var hasFailed = false
    private var absent: [Client: String] = [:]

    init(_ options: Options, _ effort: Effort) {
        self.options = options
        self.effort = effort
        commands = ClientCommand(options: options, effort: effort)
        absent[.go] = options.goClient == nil ? "Go is not installed" : nil
        for client in Client.allCases where client != .go && client != .curl {
            let program = "\(options.programs)/client-\(client.rawValue)"
            if !FileManager.default.isExecutableFile(atPath: program) { absent[client] = "was not built" }
        }
        if !Self.isInstalled("curl") { absent[.curl] = "is not installed" }
    }

    /// The medians of each client, in the clients' order.
    mutating func run(_ benchmark: Benchmark, _ servers: Servers) -> [Row] {
        for (client, reason) in benchmark.without where options.clients.contains(client) {
            leaveOut(client, benchmark, reason)
        }
        var clients = benchmark.clients.filter(options.clients.contains)
        if benchmark.shape == .crowd, fileLimit() < benchmark.concurrency + 300 {
            clients.forEach { leaveOut($0, benchmark, "at most \(fileLimit()) open files are allowed (ulimit -Hn)") }
            return []
        }
        clients.removeAll { client in
            guard let reason = absent[client] else { return false }
            leaveOut(client, benchmark, reason)
            return true
        }
        return benchmark.shape == .instructions
            ? countInstructions(benchmark, clients, servers) : measure(benchmark, clients, servers)
    }

    private mutating func measure(_ benchmark: Benchmark, _ all: [Client], _ servers: Servers) -> [Row] {
        var runs: [Client: [RunFigures]] = [:]
        var clients = all
        for _ in 0..<effort.rounds {
            for client in clients {
                do {
                    runs[client, default: []].append(try run(client, benchmark, servers))
                } catch {
                    fail(client, benchmark, error)
                    runs[client] = nil
                    clients.removeAll { $0 == client }
                }
            }
        }
        return clients.map { Row(benchmark, $0, runs[$0] ?? []) }
    }

    private func run(_ client: Client, _ benchmark: Benchmark, _ servers: Servers) throws -> RunFigures {
        defer { try? FileManager.default.removeItem(atPath: commands.outputFile) }
        let output = try outcome(
            of: commands.words(client, benchmark, servers), usage: client == .curl, libraryPath: libraryPath(client)
        ).output
        var figures = try JSONDecoder().decode(RunFigures.self, from: Data(output.utf8))
        if client == .curl { figures.bytes = Int64(effort.largeBodySize) }
        guard benchmark.shape != .bytes || figures.bytes == Int64(effort.largeBodySize) else {
            throw Failure("\(figures.bytes ?? 0) of \(effort.largeBodySize) bytes arrived")
        }
        return figures
    }

    private mutating func countInstructions(
        _ benchmark: Benchmark, _ clients: [Client], _ servers: Servers
    ) -> [Row] {
        var rows: [Row] = []
        let rounds = min(effort.rounds, 3)
        for client in clients {
            do {
                let counts = try (0..<rounds).map { _ in
                    let fewer = try instructions(client, benchmark, servers, requests: effort.instructionRequests.fewer)
                    let more = try instructions(client, benchmark, servers, requests: effort.instructionRequests.more)
                    return (more - fewer)
                        / Double(effort.instructionRequests.more - effort.instructionRequests.fewer)
                }
                rows.append(Row(benchmark, client, instructionsPerRequest: counts))
            } catch {
                fail(client, benchmark, error)
            }
        }
        return rows
    }

    /// The instructions of one whole run under callgrind.
    private func instructions(
        _ client: Client, _ benchmark: Benchmark, _ servers: Servers, requests: Int
    ) throws -> Double {
        var words = commands.words(client, benchmark, servers, requests: requests)
        words[0] = "\(options.strippedPrograms)/client-\(client.rawValue)"
        let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        let errors = try outcome(of: valgrind + words, libraryPath: libraryPath(client)).errors
        guard let line = errors.split(separator: "\n").last(where: { $0.contains("Collected :") }),
            let count = line.split(separator: " ").last.flatMap({ Double($0) })
        else { throw Failure("callgrind printed no count: \(errors.suffix(400))") }
        return count
    }

    private func outcome(of words: [String], usage: Bool = false, libraryPath: String?) throws -> ChildProcess.Outcome {
        let supervisor = ["\(options.programs)/supervise", "--timeout", "180"] + (usage ? ["--usage"] : [])
        let outcome = try ChildProcess(
            words, supervisor: supervisor, libraryPath: libraryPath,
            errorsPath: "\(options.temporaryFolder)/client.err"
        ).wait()
        guard outcome.status == 0 else {
            let reason = outcome.status == 124 ? "took more than 180 s" : "ended with status \(outcome.status)"
            throw Failure("\(reason): \(outcome.errors.split(separator: "\n").last ?? "")")
        }
        return outcome
    }

    /// The other libcurl is for those that are linked with libcurl.
    private func libraryPath(_ client: Client) -> String? {
        [.trellis, .libcurl, .urlsession, .curl].contains(client) ? options.libraryPath : nil
    }

    /// The version that the C program, and so Trellis, has loaded.
    func libcurlVersion() throws -> String {
        let words = ["\(options.programs)/client-libcurl", "--version"]
        let output = try outcome(of: words, libraryPath: options.libraryPath).output
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private mutating func fail(_ client: Client, _ benchmark: Benchmark, _ error: any Error) {
        leaveOut(client, benchmark, "\(error)")
        if client == .trellis || client == .libcurl { hasFailed = true }
    }

    private mutating func leaveOut(_ client: Client, _ benchmark: Benchmark, _ reason: String) {
        let line = "\(benchmark.name): without \(client.rawValue): \(reason)"
        leftOut.append(line)
        note(line)
    }

    private static func isInstalled(_ command: String) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(command)") }
    }
}

/// How many files a process may have open.
private func fileLimit() -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_max)
}
