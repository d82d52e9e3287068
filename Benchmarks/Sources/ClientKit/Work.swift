import CMeasure

/// The work of this process, as described by the command line, which is the same for every client.
public struct Work: Sendable {
    /// The kinds of work, by their names on the command line.
    public enum Kind: String, Sendable {
        /// Small requests: a GET, a GET whose header fields are read, and a POST of JSON.
        case get, headers, json
        /// The requests of `get`, answered without a body.
        case emptyGet = "empty-get"
        /// The requests of `get`, each with a handle, or read as a stream, if the client has such a feature.
        case handleGet = "handle-get"
        case streamGet = "stream-get"
        /// The requests of `get`, with an adapter and a retry policy if the client has such features.
        case adaptedGet = "adapted-get"
        /// The requests of `get`, with an event monitor if the client has such a feature.
        case observedGet = "observed-get"
        /// The requests of `get` to a server that sets a cookie in every response, with a retry policy, a circuit breaker, a bearer
        /// token and a cookie jar if the client has such features.
        case realisticGet = "realistic-get"
        /// The requests of `get`, with logs, metrics and traces that are made and dropped, if the client has such a feature.
        case instrumentedGet = "instrumented-get"
        /// The same without backends of logs, metrics and traces, so that nothing is made.
        case uninstrumentedGet = "uninstrumented-get"
        /// Requests that a stub in the same process answers, if the client has such a feature.
        case mockedGet = "mocked-get"
        /// Requests each of which opens a cassette of 10,000 recordings and replays the last one, if the client has such a feature.
        case cassette
        /// Requests whose responses are in a cache in memory, if the client has such a feature.
        case cachedGet = "cached-get"
        /// Requests whose responses are in a cache on a disk, if the client has such a feature.
        case cachedDiskGet = "cached-disk-get"
        /// Requests of another URL each time, without a cache.
        case unlikeGet = "unlike-get"
        /// The requests of `unlikeGet` with a cache in memory, which stores every response.
        case missedGet = "missed-get"
        /// The requests of `get` to servers of which some fail: each in turn, and as endpoints of one origin, if the client has such a
        /// feature. Failures are counted.
        case spreadGet = "spread-get"
        case fleetGet = "fleet-get"
        /// One large body, which is discarded.
        case download
        /// The same, stored in a cache on a disk while it is read, if the client has such a feature.
        case storedDownload = "download-stored"
        /// One large body, written to a file.
        case downloadFile = "download-file"
        /// Many bodies, each written to a file, `concurrency` at a time.
        case downloadFiles = "download-files"
        /// One large file, sent as a body.
        case uploadFile = "upload-file"
        /// Very many requests at once.
        case inFlight = "in-flight"
        /// Very many connections, kept after a request each.
        case idle
        /// Very many requests at once, which are cancelled.
        case cancel
        /// Very many requests at once over few connections, which the server does not answer.
        case waitingStreams = "waiting-streams"
        /// Many bodies at once, which are discarded.
        case readers
        /// The same beside as many responses whose readers have stopped.
        case readersBesideStopped = "readers-beside-stopped"
        /// One large body of text, read as its elements.
        case lines, sse, ndjson
        /// One message there and back after the other, on a WebSocket.
        case websocketEcho = "websocket-echo"
        /// The messages of a server, until the server closes the WebSocket.
        case websocketStream = "websocket-stream"
        /// Very many open WebSockets without messages.
        case websocketIdle = "websocket-idle"
        /// Very many entries, stored in a cache on a disk.
        case cacheFill = "cache-fill"
        /// The opening of the cache with these entries.
        case cacheOpen = "cache-open"
    }

    /// The kind of work.
    public let kind: Kind
    /// The URL that is requested.
    public let url: String
    /// The URLs that are requested in turn, one for each origin.
    public let urls: [String]
    /// The number of engines of Trellis; 0 if the default is used.
    public let engines: Int
    /// The largest number of connections; 0 if as many are allowed as there are requests in flight.
    public let connections: Int
    /// The number of requests in flight at once.
    public let concurrency: Int
    /// The number of measured requests; 0 if the number is only limited by `seconds`. The number of entries if the kind is `cacheFill` or
    /// `cacheOpen`.
    public let requests: Int
    /// The measured time, in seconds.
    public let seconds: Double
    /// The time before the measured time, in which connections are established, in seconds.
    public let warmUpSeconds: Double
    /// The certificate authority to trust (PEM); `nil` if plain HTTP is used.
    public let certificateAuthorityFile: String?
    /// The file to write or to send; the folder if the kind is `downloadFiles`, or is about a cache or a cassette.
    public let file: String?
    /// The port of the test server for questions about its sockets.
    public let controlPort: Int32
    /// Whether HTTP/1.1 is spoken where the server also offers HTTP/2.
    public let speaksHTTP1: Bool
    /// Whether the calling tasks prefer the client's own executor.
    public let onExecutor: Bool

    /// Reads the process's command line, or ends the process with status 64.
    public static func fromCommandLine() -> Work {
        let parsed = workload_parse(CommandLine.argc, CommandLine.unsafeArgv)
        guard let work = Work(parsed) else { fail("unknown work", status: 64) }
        return work
    }

    /// The length of the body of a small response, in bytes.
    var bodyLength: Int {
        switch kind {
        case .cachedDiskGet: 4096
        case .emptyGet: 0
        default: 11
        }
    }

    /// Whether requests that fail are counted, and do not end the run.
    var countsFailures: Bool { kind == .spreadGet || kind == .fleetGet }

    /// Whether each request has another URL.
    var hasUnlikeURLs: Bool { kind == .unlikeGet || kind == .missedGet }

    private init?(_ parsed: workload) {
        guard let kind = Kind(rawValue: String(cString: parsed.kind)) else { return nil }
        self.kind = kind
        url = String(cString: parsed.url)
        urls = (0..<parsed.origins).map { Self.url(ofOrigin: $0, parsed) }
        connections = parsed.connections
        engines = parsed.engines
        concurrency = parsed.concurrency
        requests = parsed.requests
        seconds = parsed.seconds
        warmUpSeconds = parsed.warmup_seconds
        certificateAuthorityFile = parsed.ca_file.map { String(cString: $0) }
        file = parsed.file.map { String(cString: $0) }
        controlPort = parsed.control_port
        speaksHTTP1 = parsed.http1
        onExecutor = parsed.on_executor
    }

    private static func url(ofOrigin origin: Int, _ parsed: workload) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            withUnsafePointer(to: parsed) { workload_origin_url($0, origin, start, buffer.count) }
            return String(cString: start)
        }
    }
}
