import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// A cache whose storage is a user's own, that of the article about caching: it keeps bytes, and rebuilds the entries from them.
@Suite(.timeLimit(.minutes(3)))
struct OwnStorageTests {
    private static let url = "http://localhost/a"
    private static let start = 784_111_777.0

    private let storage = RecordStorage()
    private let seconds = Locked(Self.start)
    private let cache: HTTPCache

    init() {
        cache = HTTPCache(storage: storage) { [seconds] in Date(timeIntervalSince1970: seconds.withLock { $0 }) }
    }

    private func session(_ transport: MockTransport) -> Session {
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        return Session(configuration: configuration, transport: transport)
    }

    private func pass(_ time: Double) { seconds.withLock { $0 += time } }

    private static func response(_ text: String, status: Int = 200, _ fields: HTTPFields) -> MockResponse {
        MockResponse(status: status, headers: fields, body: Data(text.utf8))
    }

    /// Returns the text of a response, and its cache status.
    private func get(_ session: Session, _ request: Request = Request(Self.url)) async throws -> [String] {
        let (data, response) = try await session.data(request)
        return [String(decoding: data, as: UTF8.self), response.cacheStatus?.description ?? "none"]
    }

    @Test func aStoredResponseIsTheResponse() async throws {
        let transport = MockTransport { _ in
            Self.response("0123456789", [.cacheControl: "max-age=60", .server: "a", .contentType: "x/y"])
        }
        let session = session(transport)
        #expect(try await get(session) == ["0123456789", "trellis; fwd=uri-miss; ttl=60; stored"])
        pass(10)
        let (data, response) = try await session.data(Self.url)
        #expect(String(decoding: data, as: UTF8.self) == "0123456789")
        #expect(response.cacheStatus?.description == "trellis; hit; ttl=50")
        #expect(response.status == .ok && response.headers[.server] == "a" && response.headers[.age] == "10")
        let part = Request(Self.url, headers: [.range: "bytes=2-4"])
        #expect(try await get(session, part) == ["234", "trellis; hit; ttl=50"])
        var streamed = Data()
        for try await chunk in try await session.stream(Self.url).chunks { streamed += chunk }
        #expect(streamed == data)
        #expect(transport.requests.count == 1)
    }

    @Test func aStaleResponseIsValidatedAndUpdated() async throws {
        let transport = MockTransport { request in
            request.headers[.ifNoneMatch] == "\"1\""
                ? Self.response("", status: 304, [.cacheControl: "max-age=120", .eTag: "\"1\"", .server: "b"])
                : Self.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\"", .server: "a"])
        }
        let session = session(transport)
        _ = try await get(session)
        pass(61)
        let validated = try await get(session)
        #expect(validated[0] == "one" && validated[1].contains("fwd=stale; fwd-status=304; ttl=120"))
        pass(100)
        let (data, response) = try await session.data(Self.url)
        #expect(data == Data("one".utf8) && response.cacheStatus?.isHit == true)
        #expect(response.headers[.server] == "b")
        #expect(try await storage.usage.count == 1)
        #expect(transport.requests.count == 2)
        #expect(cache.statistics.validatedCount == 1 && cache.statistics.failureCount == 0)
    }

    @Test func eachVariantAnswersItsOwnRequests() async throws {
        let transport = MockTransport { request in
            Self.response(
                request.headers[.acceptLanguage] ?? "-", [.cacheControl: "max-age=60", .vary: "Accept-Language"])
        }
        let session = session(transport)
        for _ in 1...2 {
            for name in ["de", "fr"] {
                let result = try await get(session, Request(Self.url, headers: [.acceptLanguage: name]))
                #expect(result[0] == name)
            }
            _ = try await get(session)
        }
        #expect(try await storage.usage.count == 3)
        #expect(transport.requests.count == 3)
    }

    @Test func removedResponsesAreRequestedAgain() async throws {
        let transport = MockTransport { request in
            Self.response(request.request.method.rawValue, [.cacheControl: "max-age=60"])
        }
        let session = session(transport)
        let urls = [Self.url, "http://localhost/b", "http://localhost/c"]
        for url in urls { _ = try await get(session, Request(url)) }
        var keys: Set<String> = []
        for try await key in storage.keys { keys.insert(key.url) }
        #expect(keys == Set(urls))
        try await cache.remove(urls[0])
        try await cache.removeAll { $0.url.hasSuffix("/b") }
        // An unsafe method removes what is stored (RFC 9111, section 4.4).
        _ = try await get(session, Request(urls[2], method: .post))
        #expect(try await storage.usage.count == 0)
        for url in urls { #expect(try await get(session, Request(url))[1] == "trellis; fwd=uri-miss; ttl=60; stored") }
        try await cache.removeAll()
        #expect(try await storage.usage == CacheUsage(count: 0, size: 0))
    }

    /// The public parts of a head are all that is needed to rebuild it, octets that are not UTF-8 and dates to the millisecond included.
    @Test func aHeadIsRebuiltFromItsParts() async throws {
        let key = CacheKey(url: Self.url, partition: "p")
        let name = try #require(HTTPField.Name("x-a"))
        let octets = HTTPField(name: name, lenientValue: [0x61, 0xFF, 0x62])
        let fields = HTTPFields([octets, HTTPField(name: .vary, value: "X-A, Accept"), octets])
        for milliseconds in 0..<200 {
            let date = Date(timeIntervalSince1970: 1_732_631_000 + Double(milliseconds) / 1000)
            let head = CachedHead(
                status: .notFound, headers: fields, requestHeaders: HTTPFields([octets]), requestDate: date,
                responseDate: date.addingTimeInterval(1))
            let writer = try await storage.makeWriter(for: key, head, length: nil)
            try await writer.write(Data("one".utf8))
            try await writer.commit()
            let entry = try #require(try await storage.entries(for: key).first)
            #expect(entry.head == head, "\(milliseconds)")
            #expect(entry.head.variant == head.variant && entry.head.headers == fields)
            #expect(entry.head.requestHeaders[fields: name] == [octets])
        }
        #expect(try await storage.usage.count == 1)
    }

    /// An update or a removal of an entry that another has replaced changes nothing.
    @Test func aReplacedEntryIsNotChanged() async throws {
        let session = session(MockTransport { _ in Self.response("one", [.cacheControl: "max-age=60"]) })
        _ = try await get(session)
        let key = CacheKey(url: Self.url)
        let old = try #require(try await storage.entries(for: key).first)
        _ = try await get(session, Request(Self.url).setting(\.cacheMode, to: .reload))
        let new = try #require(try await storage.entries(for: key).first)
        #expect(new.id != old.id)
        try await storage.remove(old, for: key)
        var head = old.head
        head.headers[.server] = "old"
        try await storage.update(old, for: key, to: head)
        #expect(try await storage.entries(for: key).map { $0.head.headers[.server] } == [nil])
        #expect(try await get(session)[1] == "trellis; hit; ttl=60")
    }
}
