import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// Caches of the user's in the slot of the cache.
@Suite(.timeLimit(.minutes(3)))
struct ResponseCachingTests {
    /// A cache that keeps the first response to each URL.
    final class FirstResponses: ResponseCaching {
        private let kept = Locked<[String: Data]>([:])

        func response(to request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            if let body = kept.withLock({ $0[request.url] }) {
                return StepResponse(to: request, status: .ok, headers: [:], body: body)
            }
            let response = try await next(request)
            if let body = response.data { kept.withLock { $0[request.url] = body } }
            return response
        }
    }

    /// A cache that uses another one for some requests.
    struct CacheForReports: ResponseCaching {
        let cache: HTTPCache

        func response(to request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            guard request.url.contains("/reports") else { return try await next(request) }
            return try await cache.response(to: request, context: context, next: next)
        }

        func open() async throws { try await cache.open() }

        func close() async { await cache.close() }
    }

    private let transport = MockTransport { _ in
        MockResponse(headers: [.cacheControl: "max-age=60"], body: Data("a".utf8))
    }

    @Test func aCacheOfTheUsersAnswers() async throws {
        var configuration = SessionConfiguration()
        configuration.cache = FirstResponses()
        configuration.cookies = CookieJar()
        let session = Session(configuration: configuration, transport: transport)
        for _ in 0..<3 { #expect(try await session.string("http://a.example/") == "a") }
        #expect(transport.startedCount == 1)
    }

    @Test(arguments: [("/reports", 1), ("/users", 3)])
    func aCacheWrapsTheFrameworks(_ path: String, _ count: Int) async throws {
        var configuration = SessionConfiguration()
        let cache = HTTPCache()
        configuration.cache = CacheForReports(cache: cache)
        let session = Session(configuration: configuration, transport: transport)
        for _ in 0..<3 { #expect(try await session.string("http://a.example\(path)") == "a") }
        #expect(transport.startedCount == count)
        #expect(cache.statistics.hitCount == 3 - count)
    }

    @Test func openingChecksTheFolder() async throws {
        let storage = DiskCacheStorage(directory: "/proc/none")
        var configuration = SessionConfiguration()
        configuration.cache = HTTPCache(storage: storage)
        await #expect(throws: FileFailure.self) { try await configuration.cache?.open() }
        configuration.cache = CacheForReports(cache: HTTPCache(storage: storage))
        await #expect(throws: FileFailure.self) { try await configuration.cache?.open() }
        configuration.cache = FirstResponses()
        try await configuration.cache?.open()
        await configuration.cache?.close()
    }
}
