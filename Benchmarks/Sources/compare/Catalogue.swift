/// The list of all benchmarks, in the order in which they run.
enum Catalogue {
    static let all: [Benchmark] = smallRequests + largeBodies + texts + crowds + [instructions]

    /// The clients that support everything. The `curl` command only takes part if one process makes one transfer.
    private static let libraries: [Client] = [.trellis, .libcurl, .asyncHTTPClient, .urlsession, .go]

    private static let smallRequests: [Benchmark] =
        [1, 16, 64, 256].map { closedLoop("small-get/\($0)", "GET of 11 bytes", "get", "/small", $0) }
        + [1, 64].map(smallGetOnExecutor) + [adaptedGet] + [1, 64].map(tlsGet)
        + [
            closedLoop("json-post/64", "POST of JSON, encoded and decoded", "json", "/json", 64),
            closedLoop("headers/64", "GET with 30 response headers, all read", "headers", "/headers", 64),
        ]

    private static let largeBodies = [
        bulk("download/1", "a large body, streamed and discarded", "download", .nginx("/large")),
        bulk("download-file/1", "a large body, streamed into a file", "download-file", .nginx("/large")),
        bulk("upload-file/1", "a large file, streamed", "upload-file", .testServer("/upload")),
        throttled(1, [.trellis, .curl]), throttled(8, [.trellis]), downloadFiles,
    ]

    /// Returns a benchmark of the gain from several connections to a server that limits the rate of each connection.
    private static func throttled(_ connections: Int, _ clients: [Client]) -> Benchmark {
        var benchmark = bulk(
            "download-throttled/\(connections)", "256 MB into a file, at 20 MB/s for each connection", "download-file",
            .testServer("/throttled/256000000"))
        benchmark.concurrency = connections
        benchmark.size = 256_000_000
        benchmark.clients = clients
        benchmark.isQuick = false
        return benchmark
    }

    private static var downloadFiles: Benchmark {
        var benchmark = bulk(
            "download-files/32", "1,000 files of 1 MB, 32 at a time", "download-files", .nginx("/middle"))
        benchmark.concurrency = 32
        benchmark.requests = 1_000
        benchmark.size = 1_000_000_000
        benchmark.clients = [.trellis, .asyncHTTPClient, .go]
        benchmark.isQuick = false
        return benchmark
    }

    private static let texts = [
        text("lines/1", "a large body, line by line", .lines, [.trellis, .asyncHTTPClient]),
        text("sse/1", "a large body, event by event", .events, [.trellis]),
        text("ndjson/1", "a large body, decoded line by line", .entries, [.trellis], isQuick: false),
    ]

    private static let crowds = [
        crowd("in-flight/10000", "10,000 requests at once, answered after 2 s", "in-flight", "/delayed"),
        cancel,
    ]

    private static var cancel: Benchmark {
        var benchmark = crowd(
            "cancel/10000", "10,000 requests cancelled, until every socket is closed", "cancel", "/never")
        benchmark.leaveOut(.urlsession, "never has 10,000 requests at the server: it stops beyond some 2,000")
        return benchmark
    }

    private static let instructions = Benchmark(
        name: "instructions/small-get", summary: "instructions a request takes, by callgrind", work: "get",
        concurrency: 64, target: .nginx("/small"), shape: .instructions, clients: [.trellis, .libcurl], isQuick: false)

    private static func smallGetOnExecutor(_ concurrency: Int) -> Benchmark {
        var benchmark = closedLoop(
            "small-get-on-executor/\(concurrency)", "the same, from tasks that prefer the session's executor", "get",
            "/small", concurrency)
        benchmark.clients = [.trellis]
        benchmark.onExecutor = true
        return benchmark
    }

    private static var adaptedGet: Benchmark {
        var benchmark = closedLoop(
            "adapted-get/64", "GET of 11 bytes, with an adapter and a retry policy in Trellis", "adapted-get", "/small",
            64)
        benchmark.clients = [.trellis, .asyncHTTPClient]
        return benchmark
    }

    private static func tlsGet(_ concurrency: Int) -> Benchmark {
        var benchmark = closedLoop(
            "tls-h2-get/\(concurrency)", "GET of 11 bytes over TLS and HTTP/2", "get", "/small", concurrency)
        benchmark.target = .nginxTLS("/small")
        benchmark.leaveOut(.urlsession, "cannot be told which certificate authority to trust on Linux")
        return benchmark
    }

    private static func closedLoop(
        _ name: String, _ summary: String, _ work: String, _ path: String, _ concurrency: Int
    ) -> Benchmark {
        Benchmark(
            name: name, summary: summary, work: work, concurrency: concurrency, target: .nginx(path), shape: .requests,
            clients: libraries)
    }

    private static func bulk(
        _ name: String, _ summary: String, _ work: String, _ target: Benchmark.Target
    ) -> Benchmark {
        Benchmark(
            name: name, summary: summary, work: work, concurrency: 1, target: target, shape: .bytes,
            clients: libraries + [.curl])
    }

    private static func text(
        _ name: String, _ summary: String, _ body: TextBody, _ clients: [Client], isQuick: Bool = true
    ) -> Benchmark {
        Benchmark(
            name: name, summary: summary, work: String(name.prefix { $0 != "/" }), concurrency: 1,
            target: .nginx("/\(body.rawValue)"), shape: .bytes, clients: clients, text: body, isQuick: isQuick)
    }

    private static func crowd(_ name: String, _ summary: String, _ work: String, _ path: String) -> Benchmark {
        Benchmark(
            name: name, summary: summary, work: work, concurrency: 10_000, target: .testServer(path), shape: .crowd,
            clients: libraries, isQuick: false)
    }
}
