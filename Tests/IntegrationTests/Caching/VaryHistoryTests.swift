import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// No stored byte is the response to a request that differs in a field named by `Vary`: random histories of requests, compared with what
/// each body says about the request that it was made for.
@Suite(.timeLimit(.minutes(2)))
struct VaryHistoryTests {
    /// A request of a history.
    private struct Asked: Sendable {
        let path: String
        let values: [String?]
        var method = HTTPRequest.Method.get
        var mode = CacheMode.default
        var hasRange = false
        var hasCondition = false
        var isStreamed = false

        init(_ generator: inout SeededGenerator) {
            path = "/\(Int.random(in: 0..<3, using: &generator))"
            values = VaryOrigin.names.map { _ in [nil, "1", "2"][Int.random(in: 0..<3, using: &generator)] }
            let modes: [CacheMode] = [.default, .default, .default, .default, .noCache, .forceCache, .reload, .noStore]
            mode = modes[Int.random(in: 0..<modes.count, using: &generator)]
            hasRange = Int.random(in: 0..<8, using: &generator) == 0
            isStreamed = Bool.random(using: &generator)
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: method = .post
            case 1: method = .head
            default: break
            }
            hasCondition = Int.random(in: 0..<8, using: &generator) == 0
        }

        func request(_ base: String) -> Request {
            var request = Request(base + path, method: method)
            for (name, value) in zip(VaryOrigin.names, values) { request.headers[name] = value }
            if hasRange { request.headers[.range] = "bytes=0-" }
            // A tag that no response has: the response has a body, whether it is stored or not.
            if hasCondition { request.headers[.ifNoneMatch] = "\"none\"" }
            request.cacheMode = mode
            return request
        }
    }

    /// Returns the reason why a response must not be that of a request; `nil` if it may.
    private static func problem(_ asked: Asked, _ response: Response, _ body: Data) -> String? {
        let isStored = response.cacheStatus?.isHit == true || response.cacheStatus?.isCoalesced == true
        let varied = response.headers[values: .vary].map { $0.lowercased() }
        // Called only for a problem: the description of a request takes longer than the request.
        func what() -> String {
            "\(asked) got \(response.headers[values: .vary]) \(response.cacheStatus?.description ?? "")"
        }
        if isStored, varied.contains("*") { return "\(what()): a response that answers no other request" }
        guard asked.method == .get else { return nil }
        guard let end = body.firstIndex(of: UInt8(ascii: "\n")) else { return "\(what()): no body" }
        let parts = String(decoding: body[..<end], as: UTF8.self).split(separator: ";").map(String.init)
        guard parts.count == 5, parts[0] == asked.path, let version = Int(parts[4].dropFirst(2)),
            body[(end + 1)...] == Data(repeating: UInt8(version % 251), count: 3000)
        else { return "\(what()): other bytes" }
        for (index, name) in VaryOrigin.names.enumerated() where varied.contains(name) {
            let wanted = "\(name)=\(asked.values[index] ?? "-")"
            if parts[1 + index] != wanted { return "\(what()): \(parts), not \(wanted)" }
        }
        return nil
    }

    private static func play(_ asked: Asked, _ session: Session, _ base: String) async throws -> String? {
        let request = asked.request(base)
        guard asked.isStreamed else {
            let (data, response) = try await session.data(request)
            return problem(asked, response, data)
        }
        let stream = try await session.stream(request)
        var data = Data()
        for try await chunk in stream.chunks { data += chunk }
        return problem(asked, stream.response, data)
    }

    /// Plays a history, and returns the statistics of its cache.
    private func play(
        seed: UInt64, isOnDisk: Bool, _ count: Int, _ base: String, _ transport: MockTransport?
    ) async throws -> CacheStatistics {
        let folder = try Folder()
        let seconds = Locked(784_111_777.0)
        let disk = DiskCacheStorage(directory: folder.path, maximumSize: 60_000)
        let storage: any CacheStorage = isOnDisk ? disk : MemoryCacheStorage(maximumSize: 60_000)
        let cache = HTTPCache(storage: storage) { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        let session =
            if let transport { Session(configuration: configuration, transport: transport) } else {
                Session(configuration: configuration)
            }
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<count {
            let asked = (0..<Int.random(in: 1...5, using: &generator)).map { _ in Asked(&generator) }
            let problems = try await withThrowingTaskGroup(of: String?.self) { group in
                for one in asked { group.addTask { try await Self.play(one, session, base) } }
                return try await group.reduce(into: [String]()) { if let problem = $1 { $0.append(problem) } }
            }
            #expect(problems == [], "seed \(seed)")
            let passed = [0, 0, 1, 3, 30][Int.random(in: 0..<5, using: &generator)]
            seconds.withLock { $0 += Double(passed) }
        }
        await session.shutdown(drainingFor: .seconds(10))
        await disk.close()
        return cache.statistics
    }

    private func expectUse(_ statistics: CacheStatistics) {
        #expect(statistics.hitCount > 10 && statistics.missCount > 10, "\(statistics)")
        #expect(statistics.storedCount > 10 && statistics.failureCount == 0)
    }

    /// In the everyday run, the histories are played until a stored response was validated.
    @Test(arguments: [false, true]) func everyResponseFitsItsRequest(_ isOnDisk: Bool) async throws {
        var validatedCount = 0
        for seed in 1...12 as ClosedRange<UInt64> where Scale.isFull || validatedCount == 0 {
            let origin = VaryOrigin(seed: seed + 1000)
            let transport = MockTransport { request in
                let answer = origin.answer(request.request.method.rawValue, request.path) { request[$0] }
                return MockResponse(status: answer.status, headers: answer.fields, body: answer.body)
            }
            let statistics = try await play(seed: seed, isOnDisk: isOnDisk, 150, "http://localhost", transport)
            expectUse(statistics)
            validatedCount += statistics.validatedCount
        }
        #expect(validatedCount > 0)
    }

    @Test(arguments: [false, true]) func everyResponseOfARealServerFitsItsRequest(_ isOnDisk: Bool) async throws {
        var validatedCount = 0
        for seed in 1...3 as ClosedRange<UInt64> where Scale.isFull || validatedCount == 0 {
            let origin = VaryOrigin(seed: seed + 2000)
            let server = try LoopbackServer.http { request in
                let answer = origin.answer(request.method, request.path) { request[$0] }
                return LoopbackServer.Response(status: answer.status, headers: answer.fields, body: answer.body)
            }
            let base = String(server.url("/").dropLast())
            let statistics = try await play(seed: seed, isOnDisk: isOnDisk, 100, base, nil)
            expectUse(statistics)
            validatedCount += statistics.validatedCount
            #expect(server.errors.isEmpty)
        }
        #expect(validatedCount > 0)
    }
}
