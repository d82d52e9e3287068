import CMeasure

/// What this process is asked to do: the command line that every client understands.
public struct Work: Sendable {
    /// The kinds of work, by the name they have on the command line.
    public enum Kind: String, Sendable {
        case get, headers, json
        /// As `get`, with an adapter and a retry policy where the client has such things.
        case adaptedGet = "adapted-get"
        case download
        case downloadFile = "download-file"
        /// Many files, so many at a time.
        case downloadFiles = "download-files"
        case uploadFile = "upload-file"
        case inFlight = "in-flight"
        case cancel
        case lines, sse, ndjson
    }

    /// What is done.
    public let kind: Kind
    /// What is asked for.
    public let url: String
    /// Requests in flight at once.
    public let concurrency: Int
    /// The number of measured requests; 0 for as many as `seconds` allow.
    public let requests: Int
    /// The measured time.
    public let seconds: Double
    /// The time before it, in which connections are made.
    public let warmUpSeconds: Double
    /// The certificate authority to trust (PEM); nil for plain HTTP.
    public let certificateAuthorityFile: String?
    /// The file to write or to send; the folder of many.
    public let file: String?
    /// The test server's port for questions about its sockets.
    public let controlPort: Int32
    /// Whether the calling tasks prefer the client's own executor.
    public let onExecutor: Bool

    /// Reads the process's command line, or ends the process with status 64.
    public static func fromCommandLine() -> Work {
        let parsed = workload_parse(CommandLine.argc, CommandLine.unsafeArgv)
        guard let work = Work(parsed) else { fail("unknown work", status: 64) }
        return work
    }

    private init?(_ parsed: workload) {
        guard let kind = Kind(rawValue: String(cString: parsed.kind)) else { return nil }
        self.kind = kind
        url = String(cString: parsed.url)
        concurrency = parsed.concurrency
        requests = parsed.requests
        seconds = parsed.seconds
        warmUpSeconds = parsed.warmup_seconds
        certificateAuthorityFile = parsed.ca_file.map { String(cString: $0) }
        file = parsed.file.map { String(cString: $0) }
        controlPort = parsed.control_port
        onExecutor = parsed.on_executor
    }
}
