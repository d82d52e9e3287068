import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// No stored byte is the response to a request that differs in a field named by `Vary`, also where parts are stored, in the cache of many
/// users, and in downloads: random histories of requests, compared with what the entity tag says about each byte.
@Suite(.timeLimit(.minutes(2)))
struct VaryPartTests {
    /// The way in which a response is read.
    private enum Way: Sendable { case memory, stream, download, head, post }

    /// A request of a history.
    private struct Asked: Sendable {
        let path: String
        let values: [String?]
        let range: String?
        let way: Way
        let mode: CacheMode

        init(_ generator: inout SeededGenerator) {
            path = "/\(Int.random(in: 0..<2, using: &generator))"
            values = VaryOrigin.names.map { _ in [nil, nil, "1"][Int.random(in: 0..<3, using: &generator)] }
            let ways: [Way] = [.memory, .memory, .memory, .memory, .stream, .stream, .download, .head]
            let isPost = Int.random(in: 0..<40, using: &generator) == 0
            way = isPost ? .post : ways[Int.random(in: 0..<ways.count, using: &generator)]
            let modes: [CacheMode] = [.default, .default, .default, .default, .noCache, .forceCache]
            mode = modes[Int.random(in: 0..<modes.count, using: &generator)]
            let start = Int.random(in: 0..<6, using: &generator) * 500
            let end = min(start + Int.random(in: 1...3, using: &generator) * 500, VaryPartOrigin.length) - 1
            let part = "bytes=\(start)-\(end)"
            let ranges: [String?] = [nil, part, part, "bytes=\(start)-", "bytes=-700"]
            let chosen = ranges[Int.random(in: 0..<ranges.count, using: &generator)]
            range = way == .memory || way == .stream ? chosen : nil
        }

        func request(_ base: String) -> Request {
            let methods: [Way: HTTPRequest.Method] = [.head: .head, .post: .post]
            var request = Request(base + path, method: methods[way] ?? .get)
            for (name, value) in zip(VaryOrigin.names, values) { request.headers[name] = value }
            request.headers[.range] = range
            request.cacheMode = mode
            return request
        }
    }

    /// The reason why a response must not be that of its request, if there is one, and its cache status.
    private struct Outcome: Sendable {
        let problem: String?
        let status: CacheStatus?

        init(_ asked: Asked, _ response: Response, _ body: Data) {
            (problem, status) = (VaryPartTests.problem(asked, response, body), response.cacheStatus)
        }
    }

    /// Returns the reason why a response must not be that of a request; `nil` if it may.
    private static func problem(_ asked: Asked, _ response: Response, _ body: Data) -> String? {
        guard asked.way != .post else { return nil }
        // Called only for a problem: the description of a request takes longer than the request.
        func what() -> String {
            "\(asked) got \(response.headers[values: .vary]) \(response.cacheStatus?.description ?? "")"
        }
        guard let tag = response.headers[.eTag] else { return "\(what()): no tag" }
        let parts = tag.dropFirst().split(separator: ";").map(String.init)
        guard parts.count == 5, parts[0] == asked.path else { return "\(what()): \(tag)" }
        let varied = response.headers[values: .vary].map { $0.lowercased() }
        for (index, name) in VaryOrigin.names.enumerated() where varied.contains(name) {
            let wanted = "\(name)=\(asked.values[index] ?? "-")"
            if parts[1 + index] != wanted { return "\(what()): \(parts), not \(wanted)" }
        }
        if asked.way == .head { return nil }
        let whole = VaryPartOrigin.body(tag)
        guard response.status == .partialContent else {
            return response.status == .ok && body == whole ? nil : "\(what()): other bytes of \(response.status)"
        }
        guard let range = VaryPartOrigin.range(asked.range) else { return "\(what()): a part" }
        let place = "bytes \(range.lowerBound)-\(range.upperBound)/\(whole.count)"
        guard response.headers[.contentRange] == place, body == whole[range] else { return "\(what()): other bytes" }
        return nil
    }

    private static func play(
        _ asked: Asked, _ session: Session, _ base: String, _ file: String
    ) async throws -> Outcome {
        let request = asked.request(base)
        switch asked.way {
        case .memory, .head, .post:
            let (data, response) = try await session.data(request)
            return Outcome(asked, response, data)
        case .stream:
            let stream = try await session.stream(request)
            var data = Data()
            for try await chunk in stream.chunks { data += chunk }
            return Outcome(asked, stream.response, data)
        case .download:
            let done = try await session.download(request, to: .file(file, .removePreviousFile))
            let data = try Data(contentsOf: URL(filePath: file))
            return Outcome(asked, done.response, data)
        }
    }

    /// Plays a history, and returns the cache statuses of its responses.
    private func play(seed: UInt64, isOnDisk: Bool, isShared: Bool, _ count: Int) async throws -> [CacheStatus] {
        let folder = try Folder()
        let seconds = Locked(784_111_777.0)
        let disk = DiskCacheStorage(directory: folder("cache"), maximumSize: 100_000)
        let storage: any CacheStorage = isOnDisk ? disk : MemoryCacheStorage(maximumSize: 100_000)
        let policy = CachePolicy(sharing: isShared ? .shared : .private)
        let cache = HTTPCache(storage: storage, policy: policy) {
            Date(timeIntervalSince1970: seconds.withLock { $0 })
        }
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        let origin = VaryPartOrigin(seed: seed + 1000, isShared: isShared)
        let session = Session(configuration: configuration, transport: MockTransport { origin.response($0) })
        var generator = SeededGenerator(seed: seed)
        var statuses: [CacheStatus] = []
        for _ in 0..<count {
            let asked = (0..<Int.random(in: 1...3, using: &generator)).map { _ in Asked(&generator) }
            let results = try await withThrowingTaskGroup(of: Outcome.self) { group in
                for (number, one) in asked.enumerated() {
                    let file = folder("file-\(number)")
                    group.addTask { try await Self.play(one, session, "http://localhost", file) }
                }
                return try await group.reduce(into: [Outcome]()) { $0.append($1) }
            }
            #expect(results.compactMap(\.problem) == [], "seed \(seed)")
            statuses += results.compactMap(\.status)
            let passed = [0, 0, 1, 3, 30][Int.random(in: 0..<5, using: &generator)]
            seconds.withLock { $0 += Double(passed) }
        }
        await session.shutdown(drainingFor: .seconds(10))
        await disk.close()
        #expect(cache.statistics.failureCount == 0)
        return statuses
    }

    /// In the everyday run, histories are played until stored responses were used in each way.
    @Test(arguments: [false, true], [false, true])
    func everyPartFitsItsRequest(_ isOnDisk: Bool, _ isShared: Bool) async throws {
        var (hits, partial, validated) = (0, 0, 0)
        var wereUsed: Bool { hits > 20 && partial > 3 && validated > 3 }
        for seed in 1...8 as ClosedRange<UInt64> where Scale.isFull || !wereUsed {
            let statuses = try await play(seed: seed, isOnDisk: isOnDisk, isShared: isShared, 150)
            hits += statuses.count { $0.isHit }
            partial += statuses.count { $0.forwardReason == .partial }
            validated += statuses.count { $0.forwardStatus?.code == 304 }
        }
        #expect(wereUsed, "\(hits) hits, \(partial) partial, \(validated) validated")
    }
}
