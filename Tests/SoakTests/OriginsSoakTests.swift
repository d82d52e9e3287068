import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

@testable import CurlEngine

/// The footprint of a client does not grow: at the end it is the same as after a tenth of the requests. The test corresponds to an hour of
/// a busy client in a few minutes: thousands of origins, some of them dead, with all the steps that surround requests.
///
/// The test runs in its own process, so that memory, descriptors and threads are those of the client. The number of requests is that of
/// `TRELLIS_SOAK_ORIGINS_REQUESTS`: 40 to each origin, for example 200,000 to 5,000 origins; without it 20,000 with `Tests/run.sh --all`.
/// The everyday run only looks whether everything is released: so few requests do not warm the process up.
struct OriginsSoakTests {
    static let requests = ProcessInfo.processInfo.environment["TRELLIS_SOAK_ORIGINS_REQUESTS"].flatMap(Int.init)

    @Test(.timeLimit(.minutes(60)))
    func nothingGrowsWithTheRequests() async throws {
        let server = try LoopbackServer { try Self.serve($0) }
        let port = server.port
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [port = port as Int] in
            try await OriginsSoak(requests: OriginsSoakTests.requests ?? (Scale.isFull ? 20_000 : 480), port: port)
                .run()
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.hasPrefix("soak:") { print(line) }
        #expect(server.errors.isEmpty)
    }

    /// Sends a response that depends on the path, and keeps no record of requests.
    private static func serve(_ connection: LoopbackServer.Connection) throws {
        var count = 0
        while true {
            let path = try connection.readLine().split(separator: " ").dropFirst().first ?? ""
            var length = 0
            while case let line = try connection.readLine(), !line.isEmpty {
                if line.lowercased().hasPrefix("content-length:") {
                    length = Int(line.dropFirst(15).drop { $0 == " " }) ?? 0
                }
            }
            if length > 0 { _ = try connection.read(exactly: length) }
            count += 1
            switch path {
            case "/endless":
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
                while true { try connection.write([UInt8](repeating: 0x61, count: 16 << 10)) }
            case "/unwell" where count == 1:
                try connection.write("HTTP/1.1 503 Later\r\nContent-Length: 5\r\n\r\nlater")
            case "/away":
                try connection.write("HTTP/1.1 302 Found\r\nLocation: /here\r\nContent-Length: 0\r\n\r\n")
            default:
                try connection.write(
                    "HTTP/1.1 200 OK\r\nSet-Cookie: c=\(count)\r\nSet-Cookie: d=1; Max-Age=60\r\nContent-Length: 11\r\n\r\nhello world"
                )
            }
        }
    }
}

/// The client of the test, in a process of its own.
private struct OriginsSoak: Sendable {
    let requests: Int
    let port: Int

    private static let workers = 32
    /// Whether there are enough requests for a growth to be seen.
    private var isLong: Bool { requests >= 2_000 }
    private var origins: Int { max(20, requests / 40) }

    /// A token that counts the live requests: an object that retains a request also retains its attachment.
    private final class Token: Sendable {
        static let count = Locked(0)
        init() { Self.count.withLock { $0 += 1 } }
        deinit { Self.count.withLock { $0 -= 1 } }
    }

    /// The resources of the process and of the session.
    struct Footprint {
        var bytes: Int
        var descriptors: Int
        var threads: Int
        var requests: Int
        var timers: Int
    }

    /// The numbers of requests by their outcomes.
    private struct Outcomes {
        var answered = 0
        var cancelled = 0
        var abandoned = 0
        var failed: [TrellisError.Kind: Int] = [:]

        mutating func add(_ other: Outcomes) {
            answered += other.answered
            cancelled += other.cancelled
            abandoned += other.abandoned
            failed.merge(other.failed) { $0 + $1 }
        }
    }

    func run() async throws {
        var configuration = SessionConfiguration()
        configuration.limits.idleLifetime = .seconds(1)
        configuration.limits.total = 64
        // On the other address of `localhost`, another process may listen on the port.
        configuration.route.addressFamily = .ipv4
        configuration.steps.cookies = CookieJar()
        // Few requests come slowly on a busy machine, and one must find a circuit open.
        configuration.steps.circuitBreaker = CircuitBreaker(
            minimumRequests: 5, openDuration: isLong ? .milliseconds(200) : .seconds(5))
        configuration.steps.rateLimiters = [RateLimiter(RateLimit(requestsPerSecond: isLong ? 500 : 5_000, burst: 50))]
        configuration.steps.redirects = RedirectPolicy()
        var policy = RetryPolicy()
        policy.exponentialBackoffScale = .milliseconds(1)
        configuration.steps.intercept(with: policy)
        let before = Descriptors.count, sockets = Descriptors.socketCount
        let session = Session(configuration: configuration)
        var outcomes = await send(requests / 10, by: session, seed: 0)
        let early = await footprint(session, sockets: sockets)
        outcomes.add(await send(requests - requests / 10, by: session, seed: 1))
        let late = await footprint(session, sockets: sockets)
        print("soak: \(requests) requests to \(origins) origins: \(outcomes)")
        print("soak: after a tenth \(early), at the end \(late)")
        // Each kind of outcome has occurred.
        #expect(outcomes.answered > requests / 3 && outcomes.cancelled > 0 && outcomes.abandoned > 0)
        #expect(outcomes.failed[.connect] ?? 0 > 0 && outcomes.failed[.circuitOpen] ?? 0 > 0)
        #expect(Set(outcomes.failed.keys).isSubset(of: [.connect, .circuitOpen]))
        // All resources of the requests are released.
        #expect(late.requests == 0 && early.requests == 0 && Token.count.withLock { $0 } == 0)
        // The runtime's own pool may open a few at any time.
        #expect(late.descriptors < early.descriptors + 5 || !isLong)
        #expect((late.threads <= early.threads + 2 || !isLong) && late.timers <= early.timers + 2)
        // The allocator keeps pages that are half empty, and tables of hosts and cookies fill up to their limits, so that a tenth and 4 MiB
        // more are allowed. A leak of 100 bytes for each of 200,000 requests would be 18 MB.
        #expect(late.bytes <= early.bytes + early.bytes / 10 + 4 << 20 || !isLong)
        await session.shutdown()
        // Every connection is closed when the shutdown returns. The runtime's own descriptors may be closed a moment later.
        if Descriptors.socketCount != sockets { print("soak: left after the shutdown: \(Descriptors.targets)") }
        #expect(Descriptors.socketCount == sockets)
        let end = ContinuousClock.now + .seconds(60)
        while Descriptors.count > before, ContinuousClock.now < end, !Task.isCancelled { await Task.yield() }
        #expect(Descriptors.count <= before, "\(Descriptors.targets)")
    }

    // MARK: Requests

    private func send(_ count: Int, by session: Session, seed: UInt64) async -> Outcomes {
        await withTaskGroup(of: Outcomes.self) { group in
            for worker in 0..<Self.workers {
                group.addTask {
                    await send(
                        count / Self.workers, by: session, random: SplitMix64(state: seed << 32 + UInt64(worker)))
                }
            }
            return await group.reduce(into: Outcomes()) { $0.add($1) }
        }
    }

    private func send(_ count: Int, by session: Session, random: SplitMix64) async -> Outcomes {
        var random = random, outcomes = Outcomes()
        for _ in 0..<count {
            let kind = Int(random.next() % 100), origin = Int(random.next() % UInt64(origins))
            let yields = Int(random.next() % 48)
            // A tenth of the origins are dead: no server listens on their port.
            let base = origin % 10 == 0 ? "http://o\(origin).localhost:1" : "http://o\(origin).localhost:\(port)"
            do {
                switch kind {
                case 0..<10:
                    let task = Task { try await session.data(request(base + "/")) }
                    for _ in 0..<yields { await Task.yield() }
                    task.cancel()
                    _ = try await task.value
                case 10..<20:
                    let answer = try await session.stream(request(base + "/endless"))
                    for try await _ in answer.chunks { break }
                    outcomes.abandoned += 1
                    continue
                case 20..<25: _ = try await session.data(request(base + "/unwell"))
                case 25..<30: _ = try await session.data(request(base + "/away"))
                case 30..<35:
                    _ = try await session.data(request(base + "/", .post, .string("abc", contentType: "text/plain")))
                default: _ = try await session.data(request(base + "/"))
                }
                outcomes.answered += 1
            } catch is CancellationError {
                outcomes.cancelled += 1
            } catch let error as TrellisError {
                outcomes.failed[error.kind, default: 0] += 1
            } catch {
                Issue.record(error)
            }
        }
        return outcomes
    }

    private func request(_ url: String, _ method: HTTPRequest.Method = .get, _ body: RequestBody? = nil) -> Request {
        var request = Request(url, method: method, body: body)
        request.attachment = Token()
        return request
    }

    // MARK: Footprint

    /// Returns the footprint when the session is idle: no request, and no socket that did not exist before the session.
    private func footprint(_ session: Session, sockets: Int) async -> Footprint {
        while true {
            // A long run leaves that to the idle lifetime.
            if !isLong, let engine = session.executor as? EngineExecutor {
                engine.submit { engine.engineLoop.giveUpIdleConnections() }
            }
            let live = await session.liveRequestCount
            if live == 0, Token.count.withLock({ $0 }) == 0, Descriptors.socketCount == sockets { break }
            await Task.yield()
        }
        ProcessFootprint.trimHeap()
        return Footprint(
            bytes: ProcessFootprint.residentBytes, descriptors: Descriptors.count,
            threads: ProcessFootprint.threadCount,
            requests: await session.liveRequestCount, timers: await timerCount(session))
    }

    private func timerCount(_ session: Session) async -> Int {
        guard let engine = session.executor as? EngineExecutor else { return -1 }
        return await withContinuation { continuation in
            engine.submit { continuation.resume(returning: engine.engineLoop.timerCount) }
        }
    }
}
