import CurlEngine
import Foundation
package import HTTPTypes
import Testing
package import TrellisCaching
package import TrellisCore
package import TrellisTesting

/// A session with a cache whose clock the test sets, and a server.
package final class CacheWorld: Sendable {
    package static let url = "http://localhost/a"

    private let seconds = Locked(0.0)
    package let transport: MockTransport
    package let cache: HTTPCache
    private let made = Locked<Session?>(nil)

    package init(
        policy: CachePolicy = CachePolicy(), storage: any CacheStorage = MemoryCacheStorage(),
        clock: (any Clock<Duration>)? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in },
        _ handler: @escaping MockTransport.Handler
    ) {
        transport = MockTransport(handler)
        cache = HTTPCache(storage: storage, policy: policy) { [seconds] in
            Date(timeIntervalSince1970: 784_111_777 + seconds.withLock { $0 })
        }
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        change(&configuration)
        let session =
            if let clock {
                Session(configuration: configuration, transport: transport, clock: clock)
            } else {
                Session(configuration: configuration, transport: transport)
            }
        made.withLock { $0 = session }
    }

    package var session: Session {
        get throws { try #require(made.withLock { $0 }) }
    }

    /// Ends the session, and waits until the monitors have handled their events.
    package func shutDown() async {
        await made.withLock { $0 }?.shutdown(drainingFor: .seconds(10))
    }

    package func pass(_ seconds: Double) { self.seconds.withLock { $0 += seconds } }

    /// Returns the text and the cache status of a response.
    package func get(_ request: Request = Request(CacheWorld.url)) async throws -> [String] {
        let (data, response) = try await session.data(request)
        return [String(decoding: data, as: UTF8.self), response.cacheStatus?.description ?? "none"]
    }

    /// The number of stored responses.
    package var storedCount: Int {
        get async throws { try await cache.storage.usage.count }
    }

    /// Returns a world whose responses wait for a gate.
    package static func waiting(at gate: LoopbackServer.Gate, clock: TestClock? = nil) -> CacheWorld {
        CacheWorld(clock: clock) { _ in
            try await gate.opened()
            return response("one")
        }
    }

    /// Sends the first request, and returns its task when the server has received it.
    package func begin() async throws -> Task<[String], any Error> {
        let get = Task { try await self.get() }
        try await transport.waitUntilRequested(count: 1)
        return get
    }

    /// Returns the fields of a response that is fresh for a minute and has a strong entity tag, with more of them.
    package static func fields(_ more: HTTPFields = [:]) -> HTTPFields {
        [.cacheControl: "max-age=60", .eTag: "\"1\""] + more
    }

    /// Returns a response that is fresh for a minute, unless its fields say otherwise.
    package static func response(
        _ text: String, status: Int = 200, _ fields: HTTPFields = [.cacheControl: "max-age=60"]
    ) -> MockResponse {
        MockResponse(status: status, headers: fields, body: Data(text.utf8))
    }
}

extension TemporaryFolder {
    /// Returns a storage in this folder, or one in memory.
    package func cacheStorage(isOnDisk: Bool) -> any CacheStorage {
        isOnDisk ? DiskCacheStorage(directory: path) : MemoryCacheStorage()
    }
}
