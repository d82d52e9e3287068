import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine
@testable import TrellisCore

/// Requests to a server of HTTP/2 that resets, refuses and leaves: none is lost that can be saved, none is processed twice that must not be,
/// and nothing is left behind.
///
/// The client runs in its own process, so that memory, descriptors and threads are its own. It sends 600 requests, 20,000 with
/// `Tests/run.sh --all`, or as many as it can in the seconds of `TRELLIS_SOAK_HTTP2_SECONDS`, for example 900.
struct HTTP2SoakTests {
    static let seconds = ProcessInfo.processInfo.environment["TRELLIS_SOAK_HTTP2_SECONDS"].flatMap(Int.init)

    @Test(.timeLimit(.minutes(60)), .enabled(if: HTTP2Session.isAvailable, "needs nghttp2"), arguments: [1, 2])
    func nothingIsLost(engines: Int) async throws {
        let unkind = try UnkindServer()
        let port = unkind.server.port
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [port = port as Int, engines = engines as Int] in
            try await HTTP2Soak(port: port, engines: engines).run()
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.hasPrefix("soak:") { print(line) }
        try await unkind.server.waitUntilAllClosed()
        #expect(unkind.processedAgain == 0)
        #expect(unkind.kinds == Set(UnkindServer.Kind.allCases))
        #expect(unkind.server.errors.isEmpty)
    }
}

/// The client of the test, in a process of its own.
private struct HTTP2Soak: Sendable {
    let port: Int
    let engines: Int

    private static let workers = 32
    private static let requests = Scale.count(600, all: 20_000)

    /// The numbers of requests by their outcomes.
    private struct Outcomes {
        var answered = 0
        var failed = 0
        var cancelled = 0
        var abandoned = 0
    }

    /// The end of a part of the run.
    private enum Extent: Sendable {
        case requests(Int)
        case time(until: ContinuousClock.Instant)

        func goesOn(after count: Int) -> Bool {
            switch self {
            case .requests(let number): count < number
            case .time(let end): ContinuousClock.now < end
            }
        }
    }

    private struct Footprint {
        var bytes: Int
        var descriptors: Int
        var threads: Int
    }

    func run() async throws {
        var configuration = SessionConfiguration()
        configuration.engines = .fixed(engines)
        configuration.httpVersion = .http2PriorKnowledge
        configuration.steps.intercept(with: RetryPolicy(exponentialBackoffScale: .milliseconds(1)))
        let before = Descriptors.count, sockets = Descriptors.socketCount
        let session = Session(configuration: configuration)
        let numbers = Locked(0)
        var outcomes = await send(part(1), by: session, numbers, seed: 0)
        try await nothingIsOpen(session, numbers)
        let early = footprint()
        let late = await send(part(9), by: session, numbers, seed: 1)
        outcomes.answered += late.answered
        outcomes.failed += late.failed
        outcomes.cancelled += late.cancelled
        outcomes.abandoned += late.abandoned
        try await nothingIsOpen(session, numbers)
        let end = footprint()
        print("soak: HTTP/2 with \(engines) engines: \(outcomes), after a tenth \(early), at the end \(end)")
        #expect(outcomes.answered > outcomes.failed && outcomes.failed > 0)
        #expect(outcomes.cancelled > 0 && outcomes.abandoned > 0)
        // So few requests as every day do not warm the process up. The allocator keeps pages that are half empty.
        let isLong = Scale.isFull || HTTP2SoakTests.seconds != nil
        #expect(end.bytes <= early.bytes + early.bytes / 10 + 4 << 20 || !isLong)
        #expect(end.descriptors < early.descriptors + 5 || !isLong)
        #expect(end.threads <= early.threads + 2 || !isLong)
        await session.shutdown()
        #expect(Descriptors.socketCount == sockets, "\(Descriptors.targets)")
        let limit = ContinuousClock.now + .seconds(60)
        while Descriptors.count > before, ContinuousClock.now < limit, !Task.isCancelled { await Task.yield() }
        #expect(Descriptors.count <= before, "\(Descriptors.targets)")
    }

    /// Returns so many tenths of the run.
    private func part(_ tenths: Int) -> Extent {
        guard let seconds = HTTP2SoakTests.seconds else { return .requests(Self.requests * tenths / 10 / Self.workers) }
        return .time(until: .now + .seconds(seconds) * tenths / 10)
    }

    /// Waits until the client has no request, and the server no stream, on any connection.
    private func nothingIsOpen(_ session: Session, _ numbers: Locked<Int>) async throws {
        while await session.liveRequestCount > 0, !Task.isCancelled { await Task.yield() }
        while try await session.string(url(.open, next(numbers))) != "0", !Task.isCancelled { await Task.yield() }
    }

    private func footprint() -> Footprint {
        ProcessFootprint.trimHeap()
        return Footprint(
            bytes: ProcessFootprint.residentBytes, descriptors: Descriptors.count,
            threads: ProcessFootprint.threadCount)
    }

    private func url(_ kind: UnkindServer.Kind, _ number: Int) -> String {
        "http://127.0.0.1:\(port)/\(kind)/\(number)"
    }

    private func next(_ numbers: Locked<Int>) -> Int {
        numbers.withLock { number in
            number += 1
            return number
        }
    }

    // MARK: Requests

    private func send(_ extent: Extent, by session: Session, _ numbers: Locked<Int>, seed: UInt64) async -> Outcomes {
        await withTaskGroup(of: Outcomes.self) { group in
            for worker in 0..<Self.workers {
                group.addTask {
                    var random = SplitMix64(state: seed << 32 + UInt64(worker)), outcomes = Outcomes(), count = 0
                    while extent.goesOn(after: count) {
                        await send(by: session, next(numbers), &random, &outcomes)
                        count += 1
                    }
                    return outcomes
                }
            }
            return await group.reduce(into: Outcomes()) { sum, part in
                sum.answered += part.answered
                sum.failed += part.failed
                sum.cancelled += part.cancelled
                sum.abandoned += part.abandoned
            }
        }
    }

    private func send(
        by session: Session, _ number: Int, _ random: inout SplitMix64, _ outcomes: inout Outcomes
    ) async {
        let choice = random.next() % 1000, yields = Int(random.next() % 48)
        let body = random.next() % 2 == 0 ? Int(random.next() % 40_000) : nil
        do {
            switch choice {
            case 0..<80:
                let task = Task { try await answer(.plain, number, body, session) }
                for _ in 0..<yields { await Task.yield() }
                task.cancel()
                _ = try await task.value
            case 80..<130:
                for try await _ in try await session.stream(url(.large, number)).chunks { break }
                outcomes.abandoned += 1
                return
            case 130..<190: try expect(try await answer(.refuse, number, body, session), .refuse, number, body)
            case 190..<200: try expect(try await answer(.away, number, body, session), .away, number, body)
            case 200..<210: try expect(try await answer(.graceful, number, body, session), .graceful, number, body)
            case 210..<250: try await processed(.reset, number, body, session)
            case 250..<280: try await processed(.cut, number, body, session)
            case 280..<320:
                #expect(try await session.data(url(.large, number)).0.count == UnkindServer.largeLength)
            default: try expect(try await answer(.plain, number, body, session), .plain, number, body)
            }
            outcomes.answered += 1
        } catch is CancellationError {
            outcomes.cancelled += 1
        } catch is Expected {
            outcomes.failed += 1
        } catch {
            Issue.record(error, "\(choice): request \(number)")
        }
    }

    /// A failure that cannot be avoided.
    private struct Expected: Error {}

    /// Sends a request whose stream is reset after it was processed. A GET is sent again; a POST must not be.
    private func processed(
        _ kind: UnkindServer.Kind, _ number: Int, _ body: Int?, _ session: Session
    ) async throws {
        guard body != nil else { return try expect(try await answer(kind, number, nil, session), kind, number, nil) }
        do {
            _ = try await answer(kind, number, body, session)
            Issue.record("request \(number) was sent again")
        } catch let error as TrellisError {
            #expect(!error.isRetryable, "\(error)")
            throw Expected()
        }
    }

    private func answer(
        _ kind: UnkindServer.Kind, _ number: Int, _ body: Int?, _ session: Session
    ) async throws -> String {
        guard let body else { return try await session.string(url(kind, number)) }
        let data = Data(repeating: 7, count: body)
        return try await session.string(Request(url(kind, number), method: .post, body: .data(data)))
    }

    private func expect(_ text: String, _ kind: UnkindServer.Kind, _ number: Int, _ body: Int?) throws {
        #expect(text == "\(kind) \(number) \(body ?? 0)")
    }
}
