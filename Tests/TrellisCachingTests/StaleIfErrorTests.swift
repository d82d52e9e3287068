import CurlEngine
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A stale response in place of a failure (RFC 5861, section 4).
struct StaleIfErrorTests {
    private typealias World = CacheWorld

    /// A stored response some time after its reception, and the time for which it stays fresh if it may take the place of a failure.
    struct Row: Sendable, CustomTestStringConvertible {
        let section: RFCSection
        let stored: String
        let request: String
        let after: Double
        let timeToLive: Int64?
        let sharing: CachePolicy.Sharing
        var testDescription: String { "\(section): '\(request)' after \(after) s of '\(stored)', \(sharing)" }

        init(
            _ section: RFCSection, _ stored: String, _ request: String = "", after: Double, _ timeToLive: Int64?,
            sharing: CachePolicy.Sharing = .private
        ) {
            (self.section, self.stored, self.request) = (section, stored, request)
            (self.after, self.timeToLive, self.sharing) = (after, timeToLive, sharing)
        }
    }

    private static let both = "max-age=60, stale-if-error=100"

    static let rows: [Row] = [
        // The directive of the response.
        Row(.rfc5861("4"), both, after: 160, -100), Row(.rfc5861("4"), both, after: 160.1, nil),
        Row(.rfc5861("4"), both, after: 160, -100, sharing: .shared),
        // A fresh response whose validation the request demands.
        Row(.rfc5861("4"), both, "no-cache", after: 10, 50), Row(.rfc5861("4"), "max-age=60", after: 61, nil),
        Row(.rfc5861("4"), "max-age=60, stale-if-error=0", after: 60, 0),
        Row(.rfc5861("4"), "max-age=60, stale-if-error=0", after: 61, nil),
        Row(.rfc5861("4"), "max-age=60, stale-if-error", after: 61, nil),
        Row(.rfc5861("4"), "max-age=60, stale-if-error=x", after: 61, nil),
        Row(.rfc5861("4"), "max-age=60, stale-if-error=-1", after: 61, nil),
        // Another reason to use a stale response is none for a failure.
        Row(.rfc5861("3"), "max-age=60, stale-while-revalidate=100", after: 61, nil),
        Row(.rfc9111("5.2.1.2"), "max-age=60", "max-stale", after: 61, nil),
        // The directive of the request. That of the response counts first.
        Row(.rfc5861("4"), "max-age=60", "stale-if-error=10", after: 70, -10),
        Row(.rfc5861("4"), "max-age=60", "stale-if-error=10", after: 71, nil),
        Row(.rfc5861("4"), "max-age=60", "stale-if-error=10", after: 70, -10, sharing: .shared),
        Row(.rfc5861("4"), "max-age=60", "stale-if-error=x", after: 61, nil),
        Row(.rfc5861("4"), "max-age=60, stale-if-error=5", "stale-if-error=100", after: 70, nil),
        Row(.rfc5861("4"), both, "stale-if-error=5", after: 70, -10),
        // Never stale, whatever else is said.
        Row(.rfc9111("5.2.2.2"), "\(both), must-revalidate", after: 61, nil),
        Row(.rfc9111("5.2.2.2"), "max-age=60, must-revalidate", "stale-if-error=100", after: 61, nil),
        Row(.rfc9111("5.2.2.2"), "\(both), must-revalidate", after: 61, nil, sharing: .shared),
        Row(.rfc9111("5.2.2.4"), "\(both), no-cache", after: 61, nil),
        Row(.rfc9111("5.2.2.4"), "\(both), no-cache=\"Set-Cookie\"", after: 61, nil),
        // Never stale in a cache of many users.
        Row(.rfc9111("5.2.2.8"), "\(both), proxy-revalidate", after: 61, -1),
        Row(.rfc9111("5.2.2.8"), "\(both), proxy-revalidate", after: 61, nil, sharing: .shared),
        Row(.rfc9111("5.2.2.8"), "max-age=60, proxy-revalidate", "stale-if-error=9", after: 61, nil, sharing: .shared),
        Row(.rfc9111("5.2.2.10"), "\(both), s-maxage=60", after: 61, -1),
        Row(.rfc9111("5.2.2.10"), "\(both), s-maxage=60", after: 61, nil, sharing: .shared),
        Row(.rfc9111("5.2.2.10"), "s-maxage=60", "stale-if-error=100", after: 61, nil, sharing: .shared),
        // An age that is not known.
        Row(.rfc9111("4.2.3"), both, after: -100, nil),
    ]

    @Test(arguments: rows)
    func aStaleResponseIsAllowedAsInTheRFC(_ row: Row) {
        let facts = CacheSamples.facts(
            CacheSamples.head(["Cache-Control: \(row.stored)"]), CachePolicy(sharing: row.sharing))
        let request = CacheRequestFields(CacheSamples.fields(["Cache-Control: \(row.request)"])).directives
        let usability = CacheUsability(
            ifError: facts, for: request, mode: .default, isUnreachable: false, at: CacheSamples.time(row.after))
        #expect(usability?.timeToLive == row.timeToLive)
        #expect(usability.map { $0.outcome == .staleAllowed } ?? true)
    }

    /// The statuses that are a failure, and the directives that forbid a stale response, in the calls of a session.
    static let calls: [(RFCSection, status: Int, String, CachePolicy.Sharing, isUsed: Bool)] = [
        (.rfc5861("4"), 500, both, .private, true), (.rfc5861("4"), 502, both, .private, true),
        (.rfc5861("4"), 503, both, .private, true), (.rfc5861("4"), 504, both, .private, true),
        (.rfc5861("4"), 503, both, .shared, true), (.rfc5861("4"), 404, both, .private, false),
        (.rfc5861("4"), 410, both, .private, false), (.rfc5861("4"), 429, both, .private, false),
        (.rfc5861("4"), 501, both, .private, false), (.rfc5861("4"), 505, both, .private, false),
        (.rfc5861("4"), 503, "max-age=60", .private, false),
        (.rfc9111("5.2.2.2"), 503, "\(both), must-revalidate", .private, false),
        (.rfc9111("5.2.2.8"), 503, "\(both), proxy-revalidate", .private, true),
        (.rfc9111("5.2.2.8"), 503, "\(both), proxy-revalidate", .shared, false),
        (.rfc9111("5.2.2.10"), 503, "\(both), s-maxage=60", .shared, false),
    ]

    @Test(arguments: calls)
    func aFailureIsReplacedAsInTheRFC(
        _ section: RFCSection, _ status: Int, _ directives: String, _ sharing: CachePolicy.Sharing, _ isUsed: Bool
    ) async throws {
        let answers = MockTransport.inTurn([
            World.response("one", [.cacheControl: directives, .eTag: "\"1\""]),
            World.response("down", status: status, [:]),
        ])
        let world = World(policy: CachePolicy(sharing: sharing), clock: TestClock()) { try await answers($0) }
        _ = try await world.get()
        world.pass(100)
        let result = try await world.get()
        #expect(result[0] == (isUsed ? "one" : "down"))
        let used = "trellis; fwd=stale; fwd-status=\(status); ttl=-40; detail=stale-if-error"
        #expect((result[1] == used) == isUsed, "\(result[1])")
        #expect(world.transport.requests.count == 2)
        #expect(world.cache.statistics.staleCount == (isUsed ? 1 : 0))
    }

    /// A stored response some time after its reception, under a policy that allows 100 seconds: the time for which it stays fresh if it may
    /// take the place of an origin that cannot be reached.
    static let unreachable: [Row] = [
        Row(.rfc9111("4.2.4"), "max-age=60", after: 160, -100), Row(.rfc9111("4.2.4"), "max-age=60", after: 160.1, nil),
        Row(.rfc9111("4.2.4"), "max-age=60", after: 160, -100, sharing: .shared),
        Row(.rfc9111("5.2.2.2"), "max-age=60, must-revalidate", after: 61, nil),
        Row(.rfc9111("5.2.2.4"), "max-age=60, no-cache", after: 1, nil),
        Row(.rfc9111("5.2.2.8"), "max-age=60, proxy-revalidate", after: 61, nil, sharing: .shared),
        Row(.rfc9111("5.2.2.8"), "max-age=60, proxy-revalidate", after: 61, -1),
        Row(.rfc9111("5.2.2.10"), "s-maxage=60", after: 61, nil, sharing: .shared),
        Row(.rfc9111("5.2.1.1"), "max-age=60", "max-age=60", after: 61, nil),
        Row(.rfc9111("5.2.1.2"), "max-age=60", "max-stale=1", after: 61, -1),
        Row(.rfc9111("5.2.1.2"), "max-age=60", "max-stale=1", after: 62, nil),
        Row(.rfc9111("5.2.1.3"), "max-age=60", "min-fresh=1", after: 61, nil),
        Row(.rfc9111("5.2.1.4"), "max-age=60", "no-cache", after: 1, nil),
        // The limit of a directive counts alone.
        Row(.rfc5861("4"), "max-age=60, stale-if-error=1", after: 70, nil),
        Row(.rfc5861("4"), "max-age=60", "stale-if-error=1", after: 70, nil),
    ]

    @Test(arguments: unreachable)
    func aStaleResponseIsAllowedWhereTheOriginCannotBeReached(_ row: Row) {
        let head = CacheSamples.head(["Cache-Control: \(row.stored)"])
        let request = CacheRequestFields(CacheSamples.fields(["Cache-Control: \(row.request)"])).directives
        func usability(
            _ limit: Duration, _ mode: CacheMode = .default, isUnreachable: Bool = true
        ) -> CacheUsability? {
            let facts = CacheSamples.facts(head, CachePolicy(sharing: row.sharing, maximumStaleness: limit))
            return CacheUsability(
                ifError: facts, for: request, mode: mode, isUnreachable: isUnreachable, at: CacheSamples.time(row.after)
            )
        }
        #expect(usability(.seconds(100))?.timeToLive == row.timeToLive)
        // Not unless the policy says so, not for a response that is an error, and not for a caller who asks for a validation.
        #expect(usability(.zero) == nil && usability(.seconds(100), isUnreachable: false) == nil)
        #expect(usability(.seconds(100), .noCache) == nil)
    }

    @Test(arguments: [Duration.zero, .seconds(40), .seconds(39)])
    func aStaleResponseTakesThePlaceOfAnOriginThatCannotBeReached(_ limit: Duration) async throws {
        let count = Locked(0)
        let world = World(policy: CachePolicy(sharing: .shared, maximumStaleness: limit), clock: TestClock()) { _ in
            guard count.next() == 1 else { throw TransportFailure(.connectionFailed(.unreachable("down"))) }
            return World.response("one")
        }
        _ = try await world.get()
        world.pass(100)
        if limit == .seconds(40) {
            #expect(try await world.get() == ["one", "trellis; fwd=stale; ttl=-40; detail=unreachable"])
        } else {
            await #expect(throws: TrellisError.self) { try await world.get() }
        }
        #expect(world.cache.statistics.staleCount == (limit == .seconds(40) ? 1 : 0))
    }

    /// The directive of a request counts for that request alone.
    @Test func theRequestAllowsAStaleResponse() async throws {
        let count = Locked(0)
        let world = World(clock: TestClock()) { _ in
            let isFirst = count.next() == 1
            return isFirst ? World.response("one") : World.response("down", status: 503, [:])
        }
        _ = try await world.get()
        world.pass(70)
        let lenient = Request(World.url, headers: [.cacheControl: "stale-if-error=10"])
        #expect(try await world.get(lenient)[0] == "one")
        #expect(try await world.get()[0] == "down")
        world.pass(1)
        #expect(try await world.get(lenient)[0] == "down")
    }
}
