/// The list of all benchmarks, in the order in which they run.
enum Catalogue {
    static let all: [Benchmark] = Array(groups.joined())

    private static let groups: [[Benchmark]] = [
        smallRequests, [origins], fleet, scale, largeBodies, http2, texts, websockets, crowds, cacheOpenings,
        instructions,
    ]

    /// The clients that support everything. The `curl` command only takes part if one process makes one transfer.
    private static let libraries: [Client] = [.trellis, .libcurl, .asyncHTTPClient, .urlsession, .go]

    private static let smallRequests: [Benchmark] =
        [1, 16, 64, 256].map { closedLoop("small-get/\($0)", "GET of 11 bytes", "get", "/small", $0) }
        + [1, 64].map(smallGetOnExecutor) + [handleGet, streamGet, adaptedGet, observedGet, realisticGet]
        + [instrumentedGet, uninstrumentedGet, mockedGet, cassette, cachedGet, cachedDiskGet, unlikeGet, missedGet]
        + [tlsHTTP1Get] + [1, 64].map(tlsGet)
        + [
            closedLoop("json-post/64", "POST of JSON, encoded and decoded", "json", "/json", 64),
            closedLoop("headers/64", "GET with 30 response headers, all read", "headers", "/headers", 64),
        ]

    private static let largeBodies = [
        bulk("download/1", "a large body, streamed and discarded", "download", .nginx("/large")),
        bulk("download-file/1", "a large body, streamed into a file", "download-file", .nginx("/large")),
        downloadStored, bulk("upload-file/1", "a large file, streamed", "upload-file", .testServer("/upload")),
        throttled(1, [.trellis, .curl]), throttled(8, [.trellis]), downloadFiles,
    ]

    /// Large bodies and many streams over HTTP/2.
    private static let http2: [Benchmark] = {
        var download = bulk(
            "h2-download/1", "256 MiB over HTTP/2, streamed and discarded", "download", .nginxTLS("/streamed"))
        download.size = Servers.streamedSize
        var upload = bulk("h2-upload/1", "256 MiB over HTTP/2, from a file", "upload-file", .nginxTLS("/upload"))
        upload.size = Servers.streamedSize
        for client in [Client.urlsession, .curl] {
            download.leaveOut(client, "is not told which certificate authority to trust")
            upload.leaveOut(client, "is not told which certificate authority to trust")
        }
        var streams = crowd(
            "h2-streams/10000", "10,000 requests without responses over 100 HTTP/2 connections", "waiting-streams", "")
        (streams.target, streams.shape, streams.origins) = (.nginxTLS("/never"), .idle, Servers.tlsAddresses)
        streams.leaveOut(.urlsession, "cannot be told which certificate authority to trust on Linux")
        return [download, upload, streams, readers("readers"), readers("readers-beside-stopped")]
    }()

    /// Returns a benchmark of 32 readers, alone or beside as many that have stopped.
    private static func readers(_ work: String) -> Benchmark {
        let others = work == "readers" ? "" : ", beside 32 readers that have stopped"
        var benchmark = bulk("h2-\(work)/32", "32 bodies of 8 MiB at once\(others)", work, .nginxTLS("/read"))
        benchmark.concurrency = 32
        benchmark.size = 32 * Servers.readSize
        benchmark.isQuick = false
        benchmark.clients = [.trellis]
        return benchmark
    }

    private static var downloadStored: Benchmark {
        var benchmark = bulk(
            "download-stored/1", "a large body, streamed, discarded and stored in a cache on a disk", "download-stored",
            .nginx("/fresh-large"))
        benchmark.clients = [.trellis]
        return benchmark
    }

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

    private static let websockets: [Benchmark] = {
        var echo = closedLoop(
            "websocket-echo/1", "1 KiB there and back on one WebSocket", "websocket-echo", "", 1)
        echo.target = .testServer("/websocket/echo")
        echo.clients = [.trellis, .libcurl]
        var echoOnExecutor = echo
        echoOnExecutor.name = "websocket-echo-on-executor/1"
        echoOnExecutor.summary = "the same, from a task that prefers the session's executor"
        echoOnExecutor.clients = [.trellis]
        echoOnExecutor.onExecutor = true
        var stream = bulk(
            "websocket-stream/1", "binary messages of 64 KiB from the server", "websocket-stream",
            .testServer("/websocket/stream/"))
        stream.clients = [.trellis, .libcurl]
        var idle = crowd(
            "websocket-idle/10000", "10,000 open WebSockets without messages", "websocket-idle", "/websocket/echo")
        idle.shape = .idle
        idle.clients = [.trellis, .libcurl]
        return [echo, echoOnExecutor, stream, idle]
    }()

    private static let crowds = [
        crowd("in-flight/10000", "10,000 requests at once, answered after 2 s", "in-flight", "/delayed"),
        manyInFlight, idle("idle", 10_000, .testServer("/gathered/10000")),
        idle("idle-tls", 9_000, .nginxTLS("/gathered/9000")), cancel,
    ]

    private static func idle(_ name: String, _ count: Int, _ target: Benchmark.Target) -> Benchmark {
        var benchmark = crowd(
            "\(name)/\(count)", "as many idle HTTP/1.1 connections, each kept after a response", "idle", "")
        benchmark.concurrency = count
        (benchmark.target, benchmark.shape, benchmark.speaksHTTP1) = (target, .idle, true)
        benchmark.leaveOut(.urlsession, "has at most some 2,000 requests at the server")
        return benchmark
    }

    private static var manyInFlight: Benchmark {
        var benchmark = crowd(
            "in-flight/50000", "50,000 requests at once to 8 addresses, answered after 2 s", "in-flight", "/delayed")
        benchmark.concurrency = 50_000
        benchmark.origins = 8
        benchmark.leaveOut(.urlsession, "has at most some 2,000 requests at the server")
        return benchmark
    }

    /// The numbers of engines, for one origin and for 64.
    private static let scale: [Benchmark] = [1, 64].flatMap { origins in
        [1, 2, 4].map { engines in
            var benchmark = closedLoop(
                "scale/\(origins)-origin\(origins == 1 ? "" : "s")/\(engines)",
                "GET of 11 bytes with \(engines) engine\(engines == 1 ? "" : "s") in Trellis", "get", "/small", 256)
            benchmark.target = .origins("/small")
            benchmark.origins = origins
            benchmark.engines = engines
            benchmark.clients = [.trellis, .libcurl]
            benchmark.isQuick = false
            return benchmark
        }
    }

    /// The numbers of entries with which a cache is opened.
    private static let cacheOpenings: [Benchmark] = [10_000, 1_000_000].map { count in
        var benchmark = Benchmark(
            name: "cache-open/\(count)", summary: "a cache on a disk with \(count) entries, opened by a new process",
            work: "cache-open", concurrency: 16, target: .nginx("/fresh"), shape: .opening, clients: [.trellis])
        benchmark.requests = count
        benchmark.isQuick = false
        // A million files take minutes.
        benchmark.isNamedOnly = count > 100_000
        return benchmark
    }

    private static var origins: Benchmark {
        var benchmark = closedLoop(
            "origins/2000", "GET of 11 bytes from 2,000 origins in turn, over at most 256 connections", "get", "/small",
            32)
        benchmark.target = .origins("/small")
        benchmark.origins = 2_000
        benchmark.connections = 256
        benchmark.clients = [.trellis, .libcurl]
        benchmark.isQuick = false
        return benchmark
    }

    /// Ten servers, two of which fail and one of which answers after two seconds: each address in turn, and as the endpoints of one origin.
    private static let fleet: [Benchmark] = [
        ("spread-get", "GET of 11 bytes from ten addresses in turn, two of which fail and one is late"),
        ("fleet-get", "the same with the ten as endpoints, with retries and hedging"),
    ].map { work, summary in
        var benchmark = closedLoop("\(work)/32", summary, work, "/small", 32)
        benchmark.target = .fleet("/small")
        benchmark.origins = 10
        benchmark.clients = [.trellis]
        benchmark.isQuick = false
        return benchmark
    }

    private static var cancel: Benchmark {
        var benchmark = crowd(
            "cancel/10000", "10,000 requests cancelled, until every socket is closed", "cancel", "/never")
        benchmark.leaveOut(.urlsession, "never has 10,000 requests at the server: it stops beyond some 2,000")
        return benchmark
    }

    /// The counts of instructions, the first of which the others are compared with.
    ///
    /// For the C program, one request at a time over TLS: before libcurl 8.4, each request in flight has its own connection, and how many
    /// there were would decide the number of handshakes, each of which costs as much as thirty requests. Its responses have no body:
    /// nginx writes the head and the body of a response over HTTP/2 one after the other, and time would decide whether the client reads
    /// them at once.
    private static let instructions: [Benchmark] = smallRequests.compactMap { timed in
        let counted = [
            "small-get/64", "small-get-on-executor/64", "handle-get/64", "stream-get/64", "adapted-get/64",
            "observed-get/64", "realistic-get/64", "instrumented-get/64", "uninstrumented-get/64", "mocked-get/64",
            "cached-get/64", "unlike-get/64", "missed-get/64", "json-post/64", "headers/64", "tls-h2-get/1",
            "tls-h2-get/64",
        ]
        guard counted.contains(timed.name) else { return nil }
        var benchmark = timed
        if case .nginxTLS = timed.target {
            (benchmark.work, benchmark.target) = ("empty-get", .nginxTLS("/empty"))
            benchmark.summary = "GET of no bytes over TLS and HTTP/2"
        }
        let work = String(timed.name.prefix { $0 != "/" })
        let isCrowdedHTTP2 = timed.name == "tls-h2-get/64"
        benchmark.name = "instructions/" + work + (isCrowdedHTTP2 ? "-64" : "")
        benchmark.summary = "instructions a request takes, by callgrind: \(benchmark.summary)"
        benchmark.shape = .instructions
        // Whether the default adds a second engine depends on time, which counts of instructions must not.
        benchmark.engines = 1
        benchmark.clients = timed.clients.filter { $0 == .trellis || $0 == .libcurl && !isCrowdedHTTP2 }
        benchmark.without = [:]
        benchmark.isQuick = false
        return benchmark
    }

    private static func smallGetOnExecutor(_ concurrency: Int) -> Benchmark {
        var benchmark = closedLoop(
            "small-get-on-executor/\(concurrency)", "the same, from tasks that prefer the session's executor", "get",
            "/small", concurrency)
        benchmark.clients = [.trellis]
        benchmark.onExecutor = true
        return benchmark
    }

    private static let handleGet = own("handle-get", "GET of 11 bytes with a handle", "/small")
    private static let streamGet = own("stream-get", "GET of 11 bytes, read as a stream", "/small")
    private static let adaptedGet = stepped(
        "adapted-get", "GET of 11 bytes, with an adapter and a retry policy in Trellis", "/small")
    private static let observedGet = stepped(
        "observed-get", "GET of 11 bytes, with an event monitor in Trellis", "/small")
    private static let realisticGet = stepped(
        "realistic-get", "GET of 11 bytes and a cookie, with retries, circuit breaker, credentials and cookie jar",
        "/cookie")

    private static let instrumentedGet = own(
        "instrumented-get", "GET of 11 bytes, with a log, metrics and a trace that are made and dropped", "/small")
    private static let uninstrumentedGet = own(
        "uninstrumented-get", "the same in a process without backends of logs, metrics and traces", "/small")
    private static let mockedGet = own("mocked-get", "GET of 11 bytes from a stub in the same process", "/small")
    private static var cassette: Benchmark {
        var benchmark = closedLoop(
            "cassette/1", "a cassette of 10,000 recordings, opened for each request", "cassette", "/small", 1)
        benchmark.clients = [.trellis]
        return benchmark
    }
    private static let cachedGet = own("cached-get", "GET of 11 bytes from a cache in memory", "/fresh")
    private static let cachedDiskGet = own("cached-disk-get", "GET of 4 KB from a cache on a disk", "/fresh-file")
    private static let unlikeGet = own(
        "unlike-get", "GET of 11 bytes, another URL each time, without a cache", "/fresh")
    private static let missedGet = own("missed-get", "the same, which a cache in memory stores", "/fresh")

    /// Returns a benchmark of features that Trellis alone has.
    private static func own(_ work: String, _ summary: String, _ path: String) -> Benchmark {
        var benchmark = closedLoop("\(work)/64", summary, work, path, 64)
        benchmark.clients = [.trellis]
        return benchmark
    }

    /// Returns a benchmark of features that AsyncHTTPClient does not have and the C program does not do.
    private static func stepped(_ work: String, _ summary: String, _ path: String) -> Benchmark {
        var benchmark = closedLoop("\(work)/64", summary, work, path, 64)
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

    private static var tlsHTTP1Get: Benchmark {
        var benchmark = tlsGet(64)
        (benchmark.name, benchmark.summary) = ("tls-get/64", "GET of 11 bytes over TLS and HTTP/1.1")
        benchmark.speaksHTTP1 = true
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
