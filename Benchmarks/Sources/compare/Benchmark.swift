/// A benchmark of the catalogue: the work that every client does.
struct Benchmark: Sendable {
    /// The server that responds, with the path of the requests.
    enum Target: Sendable {
        case nginx(String)
        case nginxTLS(String)
        /// A path that ends with a slash is completed by the number of bytes that arrive.
        case testServer(String)
        /// The nginx that is every origin of the benchmark, each on an address of its own.
        case origins(String)
        /// The nginx that is the ten servers of the benchmark, two of which fail and one of which is late.
        case fleet(String)
    }

    /// The kind of figures that a benchmark yields.
    enum Shape: Sendable {
        /// Very many small requests one after the other: requests per second and latencies.
        case requests
        /// A large transfer: bytes per second.
        case bytes
        /// Very many requests at once: the time until the last one has ended.
        case crowd
        /// Very many open connections on which nothing happens: memory and wake-ups.
        case idle
        /// The opening of a cache with very many entries: time and memory.
        case opening
        /// The number of instructions per request.
        case instructions
    }

    /// The name on the command line and in the JSON.
    var name: String
    /// A description in a few words.
    var summary: String
    /// The argument of the clients' `--work`.
    var work: String
    var concurrency: Int
    var target: Target
    var shape: Shape
    /// The clients that take part, in the order in which they take turns.
    var clients: [Client]
    /// The clients that cannot take part, each with the reason.
    var without: [Client: String] = [:]
    /// Whether HTTP/1.1 is spoken although the server also offers HTTP/2.
    var speaksHTTP1 = false
    /// Whether the tasks prefer the client's own executor.
    var onExecutor = false
    /// The body, if it is one of the bodies of text, not the large body.
    var text: TextBody?
    /// The total number of bytes that arrive, if it is not that of the large body or of a text.
    var size: Int?
    /// The number of requests, if the number is fixed instead of the time. The number of entries if a cache is opened.
    var requests: Int?
    /// The number of origins that are requested in turn.
    var origins = 1
    /// The number of Trellis's engines; `nil` if it is the default.
    var engines: Int?
    /// The largest number of connections; `nil` if as many are allowed as there are requests in flight.
    var connections: Int?
    /// Whether `--quick` includes the benchmark if no name is given.
    var isQuick = true
    /// Whether the benchmark only runs if it is named.
    var isNamedOnly = false

    /// The number of files that a client or a server has open.
    var openFiles: Int {
        switch (shape, target) {
        // nginx passes the requests on to the test server.
        case (.idle, .nginxTLS): concurrency + (origins > 1 ? origins : concurrency) + 300
        case (.crowd, _), (.idle, _): concurrency + 300
        case (_, .origins), (_, .fleet): origins + (connections ?? concurrency) + 300
        default: concurrency + 100
        }
    }

    /// Whether the requests go over TLS.
    var isSecure: Bool { if case .nginxTLS = target { true } else { false } }

    /// Excludes a client that cannot run the benchmark, with the reason.
    mutating func leaveOut(_ client: Client, _ reason: String) {
        clients.removeAll { $0 == client }
        without[client] = reason
    }
}

/// A client that is measured. The raw value is its name on the command line and in the JSON, and a part of the name of its program.
enum Client: String, CaseIterable, Codable, Sendable {
    case trellis, libcurl
    case asyncHTTPClient = "async-http-client"
    case urlsession, go, curl
}
