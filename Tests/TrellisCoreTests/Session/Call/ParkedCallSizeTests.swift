import CurlEngine
import Foundation
import Testing
import TrellisTesting

@testable import TrellisCore

/// The memory of a call that waits inside a step.
///
/// A server under load has thousands of such calls. Their size is the reason for `@inline(never)` in the pipeline: a function that
/// waits keeps the values that it needs behind the wait, and no more. The bounds are a tenth above the sizes of a debug build (11 KB
/// behind an adapter), whose frames are larger than those of a release build (5.6 KB).
@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: isMeasurable))
struct ParkedCallSizeTests {
    private static let count = 4000

    private static func residentBytes() throws -> Int {
        let file = try #require(FileManager.default.contents(atPath: "/proc/self/statm"))
        let words = String(decoding: file, as: UTF8.self).split(separator: " ")
        return try #require(words.count > 1 ? Int(words[1]) : nil) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Gives the memory that the allocator keeps back to the system, so that it does not hide what the calls take.
    private static func trimHeap() {
        guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
        typealias Trim = @convention(c) (Int) -> Int32
        _ = unsafe unsafeBitCast(symbol, to: Trim.self)(0)
    }

    /// Returns the bytes of each of many calls that wait, given a session and a way to know how many wait.
    private func bytesPerCall(
        _ session: Session, waiting: @escaping @Sendable () -> Int, release: () -> Void
    ) async throws -> Int {
        // The first calls make what all of them share.
        var tasks = (0..<200).map { _ in Task { _ = try await session.data("http://a.example/") } }
        while waiting() < 200, !Task.isCancelled { await Task.yield() }
        Self.trimHeap()
        let before = try Self.residentBytes()
        tasks += (0..<Self.count).map { _ in Task { _ = try await session.data("http://a.example/") } }
        while waiting() < 200 + Self.count, !Task.isCancelled { await Task.yield() }
        let after = try Self.residentBytes()
        for task in tasks { task.cancel() }
        release()
        for task in tasks { _ = await task.result }
        return (after - before) / Self.count
    }

    @Test func behindAnAdapter() async throws {
        let waiting = Locked(0), gate = LoopbackServer.Gate()
        var configuration = SessionConfiguration()
        configuration.steps.adapters = [
            Adapter { request, _ in
                waiting.withLock { $0 += 1 }
                try await gate.opened()
                return request
            }
        ]
        let session = Session(configuration: configuration, transport: MockTransport { _ in MockResponse() })
        let bytes = try await bytesPerCall(session, waiting: { waiting.withLock { $0 } }, release: gate.open)
        #expect(bytes < 12_500, "a call behind an adapter takes \(bytes) bytes")
    }

    @Test func behindARefresh() async throws {
        let gate = LoopbackServer.Gate(), waiting = Locked(0)
        let authenticator = TokenAuthenticator { _ in
            try await gate.opened()
            return Token("new")
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token("old", requiresRefresh: true))
        var configuration = SessionConfiguration()
        configuration.steps.adapters = [
            Adapter { request, _ in
                waiting.withLock { $0 += 1 }
                return request
            }
        ]
        configuration.steps.intercept(with: interceptor)
        let session = Session(configuration: configuration, transport: MockTransport { _ in MockResponse() })
        let bytes = try await bytesPerCall(session, waiting: { waiting.withLock { $0 } }, release: gate.open)
        #expect(bytes < 12_500, "a call behind a refresh takes \(bytes) bytes")
    }

    @Test func behindARateLimit() async throws {
        let waiting = Locked(0)
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(idle: nil, total: nil)
        configuration.steps.adapters = [
            Adapter { request, _ in
                waiting.withLock { $0 += 1 }
                return request
            }
        ]
        configuration.steps.limit(rate: RateLimit(requestsPerSecond: 0.000_1, burst: 1))
        let session = Session(configuration: configuration, transport: MockTransport { _ in MockResponse() })
        let bytes = try await bytesPerCall(session, waiting: { waiting.withLock { $0 } }, release: {})
        #expect(bytes < 12_500, "a call behind a rate limit takes \(bytes) bytes")
    }
}

/// Whether sizes can be measured: the allocator of a sanitizer keeps memory of its own.
private let isMeasurable: Bool = {
    let environment = ProcessInfo.processInfo.environment
    guard environment["TSAN_OPTIONS"] == nil, environment["ASAN_OPTIONS"] == nil,
        let maps = FileManager.default.contents(atPath: "/proc/self/maps")
    else { return false }
    let text = String(decoding: maps, as: UTF8.self)
    return !text.contains("asan") && !text.contains("tsan")
}()
