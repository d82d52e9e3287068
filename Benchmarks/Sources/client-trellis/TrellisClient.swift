import ClientKit
import CoreMetrics
import FoundationEssentials
import HTTPTypes
import Logging
import Synchronization
import Tracing
import Trellis
import TrellisObservability
import TrellisTesting

/// The benchmark client that uses Trellis, with default settings except for the number of connections.
struct TrellisClient: Client {
    private let session: Session
    private let options: DownloadOptions
    private let kind: Work.Kind
    /// The cassette that each request opens; `nil` if there is none.
    private let cassette: LargeCassette?

    init(_ work: Work) throws {
        var options = DownloadOptions()
        options.connections = work.concurrency
        self.options = options
        kind = work.kind
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = max(configuration.limits.perOrigin, work.concurrency)
        configuration.limits.total =
            work.connections > 0 ? work.connections : max(configuration.limits.total, work.concurrency)
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: work.certificateAuthorityFile)
        if work.speaksHTTP1 { configuration.httpVersion = .http1Only }
        cassette = work.kind == .cassette ? try LargeCassette(folder: work.file ?? "") : nil
        var transport: (any Transport)?
        switch work.kind {
        case .adaptedGet:
            configuration.steps.adapters.append(
                Adapter { request, _ in request.withHeader(.authorization, "Bearer token") })
            configuration.steps.intercept(with: RetryPolicy())
        case .observedGet:
            configuration.eventMonitors.append(Counter())
        case .instrumentedGet:
            DroppingBackends.bootstrap()
            configuration.observe()
        case .uninstrumentedGet: configuration.observe()
        case .mockedGet: transport = MockTransport.immediate { _ in .text("hello world") }
        case .realisticGet:
            configuration.authentication = try .bearer("token", origin: work.url)
            configuration.retry = RetryPolicy()
            configuration.steps.circuitBreaker = CircuitBreaker()
            configuration.steps.cookies = CookieJar()
        case .cachedGet, .missedGet: configuration.steps.cache = HTTPCache()
        case .cachedDiskGet, .storedDownload:
            configuration.steps.cache = HTTPCache(storage: DiskCacheStorage(directory: work.file ?? ""))
        case .fleetGet:
            let addresses = work.urls.compactMap { $0.split(separator: "/").dropFirst().first.map(String.init) }
            configuration.endpoints[work.url] = EndpointPool(
                try addresses.map { try Endpoint($0) }, policy: .leastRequests)
            configuration.retry = RetryPolicy(exponentialBackoffScale: .milliseconds(20))
            configuration.steps.hedging = HedgingPolicy(after: .milliseconds(50))
        // One nginx makes thousands of handshakes.
        case .idle: configuration.timeouts.connect = .seconds(120)
        default: break
        }
        if work.engines > 0 { configuration.engines = .fixed(work.engines) }
        session = Session(configuration: configuration, transport: transport)
    }

    var executor: (any TaskExecutor)? { session.executor }

    var engineCounters: [EngineCounters] {
        session.engineStatistics.map {
            EngineCounters(
                requests: $0.requestCount, busySeconds: $0.busyTime / .seconds(1), wakeUps: $0.wakeUpCount,
                wakeUpsByEngines: $0.wakeUpCountByEngines)
        }
    }

    func get(_ url: String) async throws -> Int {
        if let cassette {
            return try await cassette.opened { try await checked(session.data(cassette.lastURL)).0.count }
        }
        switch kind {
        case .handleGet: return try await session.request(url).data().count
        case .streamGet:
            var count = 0
            for try await chunk in try await streamed(url).chunks { count += chunk.count }
            return count
        default: return try await checked(session.data(url)).0.count
        }
    }

    func getReadingHeaders(_ url: String) async throws -> Int {
        let (_, response) = try await checked(session.data(url))
        return response.headers.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
    }

    func post(_ json: Data, to url: String) async throws -> Data {
        let request = Request(
            url, method: .post, headers: [.accept: "application/json"],
            body: .data(json, contentType: "application/json"))
        return try await checked(session.data(request)).0
    }

    func download(_ url: String, into sink: inout ByteSink) async throws {
        for try await chunk in try await streamed(url).chunks {
            try chunk.withUnsafeBytes { try sink.receive($0) }
        }
    }

    func read(_ url: String, stoppingWhile stop: @escaping @Sendable () async -> Void) async throws {
        for try await _ in try await streamed(url).chunks {
            await stop()
            break
        }
    }

    func download(_ url: String, toFile path: String) async throws -> Int64 {
        try await session.downloadRequest(url, to: .file(path, .removePreviousFile), options: options).value.size
    }

    func download(
        _ url: String, toFiles path: @escaping @Sendable (Int) -> String, count: Int, concurrency: Int
    ) async throws -> Int64 {
        let downloads = (0..<count).map { session.downloadRequest(url, to: .file(path($0))) }
        var bytes: Int64 = 0
        for await outcome in session.downloads(of: downloads, maximumConcurrency: concurrency) {
            bytes += try outcome.result.get().size
        }
        return bytes
    }

    func upload(file: String, to url: String) async throws -> Int {
        let (body, _) = try await checked(session.upload(fileAt: file, to: url))
        return Int(String(decoding: body.dropLast(), as: UTF8.self)) ?? 0
    }

    func readLines(_ url: String) async throws -> (count: Int, bytes: Int) {
        var (count, bytes) = (0, 0)
        for try await line in try await streamed(url).lines {
            count += 1
            bytes += line.utf8.count + 1
        }
        return (count, bytes)
    }

    func readEvents(_ url: String) async throws -> Int {
        var count = 0
        for try await event in try await streamed(url).serverSentEvents where !event.data.isEmpty { count += 1 }
        return count
    }

    func readEntries(_ url: String) async throws -> Int {
        var count = 0
        for try await entry in try await streamed(url).jsonLines(of: LogEntry.self) where entry.status == 200 {
            count += 1
        }
        return count
    }

    func openWebSocket(_ url: String) async throws -> TrellisSocket {
        // The timer for pings exists, but no ping is due while the client is measured.
        let options = WebSocketOptions(pingInterval: .seconds(600))
        return TrellisSocket(socket: try await session.webSocket("ws" + url.dropFirst("http".count), options: options))
    }

    func openCache(in folder: String) -> any DiskCache { StoredResponses(folder: folder) }

    func shutdown() async {
        await session.shutdown()
    }

    private func streamed(_ url: String) async throws -> StreamResponse {
        let response = try await session.stream(url)
        guard response.response.status == .ok else { throw UnexpectedAnswer("status \(response.response.status)") }
        return response
    }

    private func checked(_ answer: (Data, Response)) throws -> (Data, Response) {
        guard answer.1.status == .ok else { throw UnexpectedAnswer("status \(answer.1.status)") }
        return answer
    }
}

/// A monitor that counts all events.
private final class Counter: EventMonitor {
    private let events = Atomic(0)

    func handle(_ event: RequestEvent) async { events.add(1, ordering: .relaxed) }
}

/// A WebSocket of Trellis.
struct TrellisSocket: Conversation {
    fileprivate let socket: WebSocket

    func send(_ message: Data) async throws { try await socket.send(message) }

    func receive() async throws -> Data? {
        switch try await socket.receive() {
        case .binary(let message): message
        case .text: throw UnexpectedAnswer("a text")
        case nil: nil
        }
    }

    func close() async throws { try await socket.close() }
}
