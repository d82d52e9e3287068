import Foundation
import Testing

/// The cache of the client. The tests count requests of one server, and so run one after another.
@Suite(.serialized, .timeLimit(.minutes(60))) struct CacheTests {
    static let server = Task { try await Server.python("cached.py") }
    let cache: TemporaryFolder

    init() throws { cache = try TemporaryFolder() }

    /// Runs the client for a report with the test's own cache. Also returns how many requests the server has received.
    private func fetch(_ path: String, _ options: String...) async throws -> (run: Run, requests: Int) {
        let server = try await Self.server.value, before = Int(try await server.ask("count")) ?? 0
        let run = try await report(["\(server.line)\(path)", "--cache", cache["cache"]] + options)
        return (run, (Int(try await server.ask("count")) ?? 0) - before)
    }

    /// The cache status of a report, with `ttl=N` for the seconds that a response of `cached.py` is fresh at first.
    private func cacheStatus(_ run: Run) -> String {
        run.report["cache_status"].text.replacing(/ttl=3[56]\d\d/, with: "ttl=N")
    }

    @Test func aStoredResponseIsUsedAgainWithoutARequest() async throws {
        let first = try await fetch("/1")
        #expect(first.run.report.values("from_cache", "status") == [false, 200])
        #expect(cacheStatus(first.run) == "trellis; fwd=uri-miss; ttl=N; stored")
        #expect(first.requests == 1)

        let second = try await fetch("/1")
        #expect(second.run.report.values("from_cache", "status") == [true, 200])
        #expect(cacheStatus(second.run) == "trellis; hit; ttl=N")
        #expect(second.requests == 0)
        #expect(second.run.body == first.run.body)
    }

    @Test func anotherFolderIsAnotherCache() async throws {
        _ = try await fetch("/1")
        let run = try await report(["\(try await Self.server.value.line)/1", "--cache", cache["other"]])
        #expect(run.report["from_cache"] == false)
    }

    @Test(arguments: [
        Mode("default", .fresh, isHit: true, "trellis; hit; ttl=N", requests: 0),
        Mode("default", .missing, isHit: false, "trellis; fwd=uri-miss; ttl=N; stored", requests: 1),
        Mode("reload", .fresh, isHit: false, "trellis; fwd=bypass; ttl=N; stored", requests: 1),
        Mode("no-store", .fresh, isHit: false, "trellis; fwd=bypass; detail=mode-no-store", requests: 1),
        Mode("no-store", .missing, isHit: false, "trellis; fwd=bypass; detail=mode-no-store", requests: 1),
        Mode("force-cache", .stale, isHit: true, "trellis; hit; ttl=", requests: 0),
        Mode("force-cache", .missing, isHit: false, "trellis; fwd=uri-miss; ttl=N; stored", requests: 1),
        Mode("only-if-cached", .stale, isHit: true, "trellis; hit; ttl=", requests: 0),
        Mode("only-if-cached", .missing, isHit: false, "trellis; detail=only-if-cached", requests: 0),
        Mode("default", .stale, isHit: nil, "trellis; fwd=stale", requests: 1),
        Mode("default", .staleAndChanged, isHit: nil, "trellis; fwd=stale", requests: 1),
        Mode("no-cache", .fresh, isHit: nil, "trellis; fwd=request", requests: 1),
        Mode("no-cache", .freshAndChanged, isHit: nil, "trellis; fwd=request", requests: 1),
    ])
    func aModeDecidesBetweenTheCacheAndTheServer(_ mode: Mode) async throws {
        if mode.stored != .missing { _ = try await fetch(mode.stored.rawValue) }
        let result = try await fetch(mode.stored.rawValue, "--cache-mode", mode.name)
        if let isHit = mode.isHit { #expect(result.run.report["from_cache"] == .bool(isHit)) }
        #expect(cacheStatus(result.run).hasPrefix(mode.status), "\(cacheStatus(result.run))")
        #expect(result.requests == mode.requests)
    }

    @Test func aReloadedResponseIsStored() async throws {
        _ = try await fetch("/1")
        let reloaded = try await fetch("/1", "--cache-mode", "reload")
        let next = try await fetch("/1", "--cache-mode", "default")
        #expect(next.run.report["from_cache"] == true)
        #expect(cacheStatus(next.run) == "trellis; hit; ttl=N")
        #expect(next.requests == 0)
        #expect(next.run.body == reloaded.run.body)
    }

    @Test func noStoreStoresNothing() async throws {
        _ = try await fetch("/never", "--cache-mode", "no-store")
        let next = try await fetch("/never", "--cache-mode", "default")
        #expect(next.run.report["from_cache"] == false)
        #expect(cacheStatus(next.run).hasPrefix("trellis; fwd=uri-miss"))
    }

    @Test func onlyIfCachedSaysWhyThereIsNoBody() async throws {
        let reason = "trellis: no stored response can be used, and nothing was sent (only-if-cached)"
        let missing = try await fetch("/4", "--cache-mode", "only-if-cached")
        #expect(missing.run.report.values("from_cache", "status") == [false, 504])
        #expect(missing.run.errors.lines.count { $0 == reason } == 1)

        let server = try await Self.server.value
        let plain = try await client([
            "\(server.line)/4", "--cache", cache["cache"], "--cache-mode", "only-if-cached",
        ])
        #expect(plain.errors.lines(with: "(only-if-cached)").count == 1)
        #expect(plain.text == "" && plain.status == 0)

        _ = try await fetch("/stale?0")
        let stored = try await fetch("/stale?0", "--cache-mode", "only-if-cached")
        #expect(stored.run.errors.lines(with: "(only-if-cached)") == [])
    }

    @Test func theFolderIsItsUsersAlone() async throws {
        _ = try await fetch("/1")
        let attributes = try FileManager.default.attributesOfItem(atPath: cache["cache"])
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    @Test func aFolderThatIsAFileIsNoObstacle() async throws {
        try cache.write("a file", to: "cache")
        let result = try await fetch("/1")
        #expect(result.run.report["status"] == 200)
        #expect(try cache.text(of: "cache") == "a file")
    }
}

extension CacheTests {
    /// What is in the cache for a path, as the path.
    enum Stored: String {
        case missing = "/missing"
        case fresh = "/1"
        case freshAndChanged = "/fresh-changed"
        case stale = "/stale?0"
        case staleAndChanged = "/stale-changed?0"
    }

    /// A mode of the cache, and what comes of it.
    struct Mode: CustomTestStringConvertible {
        let name: String
        let stored: Stored
        /// Whether the response is from the cache; `nil` if nothing is expected.
        let isHit: Bool?
        /// The beginning of the cache status.
        let status: String
        let requests: Int

        init(_ name: String, _ stored: Stored, isHit: Bool?, _ status: String, requests: Int) {
            (self.name, self.stored, self.isHit, self.status, self.requests) = (name, stored, isHit, status, requests)
        }

        var testDescription: String { "\(name), \(stored)" }
    }
}
