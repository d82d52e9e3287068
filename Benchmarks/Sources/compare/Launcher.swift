import Foundation
import Glibc

/// A launcher of clients, one at a time, each under a supervisor with a time limit.
struct Launcher {
    let options: Options
    let effort: Effort
    private let commands: ClientCommand
    /// The time limit of a run, in seconds.
    private static let timeLimit = 180
    /// The parent process at the start: `run.sh`.
    private let parent = getppid()

    init(_ options: Options, _ effort: Effort) {
        self.options = options
        self.effort = effort
        commands = ClientCommand(options: options, effort: effort)
    }

    /// Returns the reason why a client cannot run here; `nil` if it can.
    func absence(of client: Client) -> String? {
        switch client {
        case .go: options.goClient == nil ? "Go is not installed" : nil
        case .curl: isInstalled("curl") ? nil : "curl is not installed"
        default: isExecutable("\(options.programs)/client-\(client.rawValue)") ? nil : "not built"
        }
    }

    /// Runs a client once. Throws an error if the run fails, or not all bytes arrive.
    func run(_ client: Client, _ benchmark: Benchmark, _ servers: Servers) throws -> RunFigures {
        defer { for path in commands.outputs { try? FileManager.default.removeItem(atPath: path) } }
        if ["download-file", "download-stored"].contains(benchmark.work) {
            // The disk does not still write what the client before has written.
            sync()
            try takeMemory(ofFileOf: effort.bodySize(of: benchmark))
        }
        let words = commands.words(client, benchmark, servers)
        let serverBegun = servers.originCPUSeconds
        let outcome = try launch(words, libraryPath: libraryPath(client), printsUsage: client == .curl)
        var figures = try JSONDecoder().decode(RunFigures.self, from: Data(outcome.output.utf8))
        if let serverBegun, let serverEnded = servers.originCPUSeconds {
            // The servers also work while the client warms up.
            figures.serverCores = (serverEnded - serverBegun) / (figures.seconds + effort.warmUpSeconds)
        }
        let size = effort.bodySize(of: benchmark)
        // The curl command itself fails if bytes are missing.
        if client == .curl { figures.bytes = Int64(size) }
        guard benchmark.shape != .bytes || figures.bytes == Int64(size) else {
            throw Failure("\(figures.bytes ?? 0) of \(size) bytes arrived")
        }
        return figures
    }

    /// Writes and deletes a file, so that the machine has the memory for another file of that size. A virtual machine gets unused memory
    /// from its host page by page, which takes four times as long as writing the pages.
    private func takeMemory(ofFileOf size: Int) throws {
        let path = "\(options.temporaryFolder)/memory"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { throw Failure("\(path): \(String(cString: strerror(errno)))") }
        defer {
            close(file)
            unlink(path)
        }
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<size / piece.count where write(file, piece, piece.count) != piece.count {
            throw Failure("\(path): \(String(cString: strerror(errno)))")
        }
    }

    /// Returns the reason why the temporary folder has no room for what a benchmark needs in every run; `nil` if it has.
    func lackOfRoom(for benchmark: Benchmark) -> String? {
        guard benchmark.shape == .opening, let count = benchmark.requests else { return nil }
        // Each entry is a file, which takes a block of 4 KiB besides its inode.
        let (needed, free) = (count * 5_000, freeSpace(of: options.temporaryFolder))
        let folder = options.temporaryFolder
        return free < needed ? "needs \(needed >> 20) MiB in \(folder), of which \(free >> 20) are free" : nil
    }

    /// Makes the cache that a benchmark opens in every run. Throws an error if that fails.
    func fillCache(_ client: Client, _ benchmark: Benchmark, _ servers: Servers) throws {
        try FileManager.default.createDirectory(atPath: commands.cacheFolder, withIntermediateDirectories: true)
        var filling = benchmark
        filling.work = "cache-fill"
        let words = commands.words(client, filling, servers)
        let output = try launch(words, libraryPath: libraryPath(client), timeLimit: 900).output
        let figures = try JSONDecoder().decode(RunFigures.self, from: Data(output.utf8))
        // The disk writes the files now, not while the cache is opened.
        sync()
        note("\(benchmark.name): \(client.rawValue) has stored the entries in \(Int(figures.seconds.rounded(.up))) s")
    }

    /// Removes the caches that were opened.
    func removeCaches() { try? FileManager.default.removeItem(atPath: commands.cacheFolder) }

    /// Returns the instructions of a request: the difference of two runs, so that the start is not counted.
    func instructionsPerRequest(_ client: Client, _ benchmark: Benchmark, _ servers: Servers) throws -> Double {
        let (fewer, more) = effort.instructionRequests(of: benchmark)
        let difference =
            try instructions(client, benchmark, servers, requests: more)
            - instructions(client, benchmark, servers, requests: fewer)
        return difference / Double(more - fewer)
    }

    /// Returns the instructions of a complete run under callgrind.
    private func instructions(
        _ client: Client, _ benchmark: Benchmark, _ servers: Servers, requests: Int
    ) throws -> Double {
        var words = commands.words(client, benchmark, servers, requests: requests)
        words[0] = "\(options.strippedPrograms)/client-\(client.rawValue)"
        let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        let errors = try launch(valgrind + words, libraryPath: libraryPath(client)).errors
        guard let line = errors.split(separator: "\n").last(where: { $0.contains("Collected :") }),
            let count = line.split(separator: " ").last.flatMap({ Double($0) })
        else { throw Failure("callgrind printed no count: \(errors.suffix(400))") }
        return count
    }

    /// Returns the version of libcurl that the C program, and therefore Trellis, has loaded.
    func libcurlVersion() throws -> String {
        let words = ["\(options.programs)/client-libcurl", "--version"]
        let output = try launch(words, libraryPath: options.libraryPath).output
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func launch(
        _ words: [String], libraryPath: String?, printsUsage: Bool = false, timeLimit: Int = Self.timeLimit
    ) throws -> ChildProcess.Outcome {
        endIfOrphaned()
        let supervisor = ["\(options.programs)/supervise", "--timeout", "\(timeLimit)"]
        let child = try ChildProcess(
            words, supervisor: supervisor + (printsUsage ? ["--usage"] : []), libraryPath: libraryPath,
            errorsPath: "\(options.temporaryFolder)/client.err")
        let outcome = child.wait()
        guard outcome.status == 0 else {
            let how = outcome.status == 124 ? "took more than \(timeLimit) s" : "ended with status \(outcome.status)"
            let message = outcome.errors.split(separator: "\n").last.map { ": \($0)" } ?? ""
            throw Failure(how + message)
        }
        return outcome
    }

    /// Ends the process if `run.sh` was killed, because then the figures are not read and the files are not removed. The servers end with
    /// this process.
    private func endIfOrphaned() {
        guard getppid() != parent else { return }
        try? FileManager.default.removeItem(atPath: options.temporaryFolder)
        exit(1)
    }

    /// Returns the folder of the other libcurl for a client that is linked with libcurl, as Foundation's networking is.
    private func libraryPath(_ client: Client) -> String? {
        [.trellis, .libcurl, .urlsession, .curl].contains(client) ? options.libraryPath : nil
    }
}

private func isExecutable(_ path: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: path)
}

private func isInstalled(_ command: String) -> Bool {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return path.split(separator: ":").contains { isExecutable("\($0)/\(command)") }
}
