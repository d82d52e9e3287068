/// The command lines of the clients.
struct ClientCommand {
    let options: Options
    let effort: Effort
    /// The file that `download-file` writes.
    var outputFile: String { "\(options.temporaryFolder)/downloaded" }

    /// The folder to which `download-files` writes. It is in memory if there is enough memory, because a disk that has just deleted a
    /// thousand files is slow to create new ones.
    var outputFolder: String {
        let memory = "/dev/shm"
        let folder = freeSpace(of: memory) > 4 << 30 ? memory : options.temporaryFolder
        return "\(folder)/\(options.temporaryFolder.split(separator: "/").last ?? "files")"
    }

    /// The folder of the cache in which `download-stored` stores. It is on the disk to which `download-file` writes.
    private var storedFolder: String { "\(options.temporaryFolder)/stored" }

    /// The folder of the caches that `cache-open` opens in every run.
    var cacheFolder: String { "\(options.temporaryFolder)/cache" }

    /// The files and folders that a run may leave behind.
    var outputs: [String] { [outputFile, outputFolder, storedFolder] }

    /// Returns the command for one run.
    ///
    /// - Parameter requests: The number of requests, if the number is fixed instead of the time.
    func words(_ client: Client, _ benchmark: Benchmark, _ servers: Servers, requests: Int? = nil) -> [String] {
        if client == .curl { return curl(benchmark, servers) }
        var words = [client == .go ? options.goClient ?? "" : "\(options.programs)/client-\(client.rawValue)"]
        words += ["--work", benchmark.work] + servers.arguments(for: benchmark)
        words += ["--concurrency", "\(benchmark.concurrency)"]
        if benchmark.shape == .requests {
            words += ["--seconds", "\(effort.seconds)", "--warmup", "\(effort.warmUpSeconds)"]
        }
        if benchmark.shape == .idle { words += ["--seconds", "\(effort.idleSeconds)"] }
        if let requests = requests ?? benchmark.requests { words += ["--requests", "\(requests)"] }
        if benchmark.work == "download-file" { words += ["--file", outputFile] }
        if ["download-files", "cached-disk-get", "cassette"].contains(benchmark.work) {
            words += ["--file", outputFolder]
        }
        if benchmark.work == "download-stored" { words += ["--file", storedFolder] }
        if benchmark.shape == .opening { words += ["--file", cacheFolder] }
        if benchmark.work == "upload-file" {
            words += ["--file", benchmark.isSecure ? servers.streamedFile : servers.largeFile]
        }
        if benchmark.origins > 1 { words += ["--origins", "\(benchmark.origins)"] }
        if let engines = benchmark.engines { words += ["--engines", "\(engines)"] }
        if let connections = benchmark.connections { words += ["--connections", "\(connections)"] }
        if benchmark.speaksHTTP1 { words += ["--http1"] }
        if benchmark.onExecutor { words += ["--on-executor"] }
        return words
    }

    /// Returns the curl command, which prints no figures: its supervisor measures the complete process.
    private func curl(_ benchmark: Benchmark, _ servers: Servers) -> [String] {
        var words = ["curl", "--disable", "--silent", "--show-error", "--fail", "--noproxy", "*"]
        switch benchmark.work {
        case "download-file": words += ["--output", outputFile]
        case "upload-file":
            words += ["--output", "/dev/null", "--header", "Expect:", "--upload-file", servers.largeFile]
        default: words += ["--output", "/dev/null"]
        }
        return words + [servers.url(of: benchmark)]
    }
}
