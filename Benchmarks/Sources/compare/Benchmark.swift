/// One line of the catalogue: what every client does.
struct Benchmark: Sendable {
    /// Which server answers, and where.
    enum Target: Sendable {
        case nginx(String)
        case nginxTLS(String)
        case testServer(String)
    }

    /// Which figures say something.
    enum Shape: Sendable {
        /// Very many small requests one after the other: requests per second and latencies.
        case requests
        /// One large transfer: bytes per second.
        case bytes
        /// Very many requests at once: how long until the last is done.
        case crowd
        /// The number of instructions a request takes.
        case instructions
    }

    /// As on the command line and in the JSON.
    var name: String
    /// What it shows, in a few words.
    var summary: String
    /// The clients' `--work`.
    var work: String
    var concurrency: Int
    var target: Target
    var shape: Shape
    /// Clients that take part, in the order in which they take turns.
    var clients: [Client]
    /// Clients that cannot, and why.
    var without: [Client: String] = [:]
    var onExecutor = false
    /// What the body is, where it is not the large one.
    var text: TextBody?
    /// The bytes that arrive in all, where it is neither of them.
    var size: Int?
    /// How many requests, where that and not the time is fixed.
    var requests: Int?
    /// Whether `--quick` runs it when no name is given.
    var isQuick = true

    /// Takes a client out that cannot do it.
    mutating func leaveOut(_ client: Client, _ reason: String) {
        clients.removeAll { $0 == client }
        without[client] = reason
    }
}

/// Who is measured. The raw value names it on the command line, in the JSON, and its program.
enum Client: String, CaseIterable, Codable, Sendable {
    case trellis, libcurl
    case asyncHTTPClient = "async-http-client"
    case urlsession, go, curl
}
