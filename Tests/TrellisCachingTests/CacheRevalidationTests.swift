import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Responses that change others that are stored, and requests that must not change them. The sections are those of RFC 9111.
@Suite(.timeLimit(.minutes(3)))
struct CacheRevalidationTests {
    private typealias World = CacheWorld

    private static let authorized = Request(World.url, headers: [.authorization: "Basic YTpi"])

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // MARK: Updates

    /// 4.3.4
    @Test(arguments: [false, true])
    func a304ToTheCallersConditionUpdatesTheStoredResponse(_ isOnDisk: Bool) async throws {
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { request in
            request.headers.contains(.ifNoneMatch)
                ? World.response("", status: 304, [.cacheControl: "max-age=600", .eTag: "\"1\""])
                : World.response("one", World.fields())
        }
        _ = try await world.get()
        world.pass(61)
        let conditional = Request(World.url, headers: [.ifNoneMatch: "\"1\""])
        let (data, response) = try await world.session.data(conditional)
        #expect(data.isEmpty && response.status == .notModified)
        #expect(response.cacheStatus?.description == "trellis; fwd=stale; detail=condition")
        world.pass(500)
        #expect(try await world.get() == ["one", "trellis; hit; ttl=100"])
        #expect(world.transport.requests.count == 2)
    }

    /// 4.3.4: a 304 to a condition that was not the cache's is about the response with its validator alone.
    @Test(arguments: [[:], [.eTag: "\"2\""]] as [HTTPFields])
    func a304ToTheCallersConditionUpdatesNoOther(_ validators: HTTPFields) async throws {
        let world = World { request in
            request.headers[.ifNoneMatch] == "\"2\""
                ? World.response("", status: 304, validators) : World.response("one", World.fields())
        }
        _ = try await world.get()
        world.pass(61)
        let conditional = Request(World.url, headers: [.ifNoneMatch: "\"2\""])
        #expect(try await world.session.data(conditional).1.status == .notModified)
        #expect(try await world.get() == ["one", "trellis; fwd=stale; ttl=60; stored"])
    }

    /// 4.3.4
    @Test(arguments: [false, true]) func a304UpdatesAllResponsesWithItsStrongTag(_ isOnDisk: Bool) async throws {
        let count = Locked(0)
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { request in
            if request.headers.contains(.ifNoneMatch) {
                return World.response("", status: 304, [.cacheControl: "max-age=600", .eTag: "\"1\""])
            }
            let isFirst = count.next() == 1
            return World.response("one", World.fields(isFirst ? [:] : [.vary: "Accept-Language"]))
        }
        let request = Request(World.url, headers: [.acceptLanguage: "de"])
        _ = try await world.get(request)
        world.pass(1)
        _ = try await world.get(request.withCacheMode(.reload))
        #expect(try await world.storedCount == 2)
        world.pass(61)
        #expect(try await world.get(request) == ["one", "trellis; fwd=stale; fwd-status=304; ttl=600; stored"])
        let stored = try await world.cache.storage.entries(for: CacheKey(url: World.url))
        #expect(stored.map { $0.head.headers[.cacheControl] } == ["max-age=600", "max-age=600"])
    }

    /// 429: RFC 6585, section 4. The statuses are about the request that was sent, and not about its URL.
    @Test(arguments: [408, 421, 425, 429])
    func aStatusAboutTheAttemptLeavesTheStoredResponse(_ status: Int) async throws {
        let count = Locked(0)
        let world = World { request in
            switch count.next() {
            case 1: World.response("one", World.fields())
            case 2: World.response("later", status: status)
            default:
                request.headers[.ifNoneMatch] == "\"1\""
                    ? World.response("", status: 304, World.fields()) : World.response("two", World.fields())
            }
        }
        _ = try await world.get()
        world.pass(61)
        #expect(try await world.get() == ["later", "trellis; fwd=stale; detail=attempt"])
        #expect(try await world.get() == ["one", "trellis; fwd=stale; fwd-status=304; ttl=60; stored"])
    }

    /// 4.3.5: the stored failure is not that of a URL that has a representation now.
    @Test func aHEADDoesNotMakeAStoredFailureFresh() async throws {
        let world = World { request in
            request.method == .head
                ? World.response("", [.cacheControl: "max-age=600"]) : World.response("none", status: 404)
        }
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        _ = try await world.get(Request(World.url, method: .head).withCacheMode(.reload))
        #expect(try await world.storedCount == 0)
    }

    // MARK: Requests that must not change what is stored

    /// 5.2.1.5
    @Test func aRequestThatSaysNoStoreRemovesNothing() async throws {
        let world = World { request in
            request.headers.contains(.ifNoneMatch)
                ? World.response("", status: 304, World.fields()) : World.response("one", World.fields())
        }
        _ = try await world.get()
        for method in [HTTPRequest.Method.get, .head] {
            var purge = Request(World.url, method: method)
            purge.headers[.cacheControl] = "no-cache, no-store"
            _ = try await world.get(purge)
        }
        #expect(try await world.get() == ["one", "trellis; hit; ttl=60"])
        #expect(world.transport.requests.count == 3)
    }

    /// 3.5: neither the confirmation nor the response to one user is that to the others.
    @Test(arguments: [304, 200, 404]) func aRequestWithCredentialsRemovesNothing(_ status: Int) async throws {
        let world = World(policy: CachePolicy(sharing: .shared)) { request in
            guard request.headers.contains(.authorization) else { return World.response("one", World.fields()) }
            if status == 304 { return World.response("", status: 304, World.fields()) }
            return World.response("own", status: status, [.cacheControl: "max-age=60", .eTag: "\"2\""])
        }
        _ = try await world.get()
        world.pass(61)
        #expect(try await world.get(Self.authorized)[0] == (status == 304 ? "one" : "own"))
        #expect(try await world.storedCount == 1)
        #expect(try await world.get()[1] == "trellis; fwd=stale; ttl=60; stored")
    }

    /// 3.5: a response that is for all replaces the stored one.
    @Test func aRequestWithCredentialsUpdatesWhatIsForAll() async throws {
        let world = World(policy: CachePolicy(sharing: .shared)) { request in
            request.headers.contains(.authorization)
                ? World.response("two", [.cacheControl: "max-age=60, public"]) : World.response("one", World.fields())
        }
        _ = try await world.get()
        world.pass(61)
        #expect(try await world.get(Self.authorized) == ["two", "trellis; fwd=stale; ttl=60; stored"])
        #expect(try await world.get() == ["two", "trellis; hit; ttl=60"])
    }

    /// 3.5
    @Test func aHEADWithCredentialsRemovesNothing() async throws {
        let world = World(policy: CachePolicy(sharing: .shared)) { request in
            World.response(
                request.method == .head ? "" : "one",
                [.cacheControl: "max-age=60", .eTag: request.method == .head ? "\"2\"" : "\"1\""])
        }
        _ = try await world.get()
        var head = Request(World.url, method: .head).withCacheMode(.reload)
        head.headers[.authorization] = "Basic YTpi"
        _ = try await world.get(head)
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        head.headers[.authorization] = nil
        _ = try await world.get(head)
        #expect(try await world.storedCount == 0)
    }

    @Test(arguments: [false, true])
    func theCookiesOfAValidationAreThoseOfItsOwnRequest(_ isStream: Bool) async throws {
        let world = World(policy: CachePolicy(sharing: .shared)) { request in
            guard request.headers.contains(.ifNoneMatch) else {
                return World.response("one", World.fields([.setCookie: "user=1"]))
            }
            return World.response("", status: 304, World.fields([.setCookie: "user=2"]))
        }
        _ = try await world.get()
        world.pass(61)
        let (text, response) = try await world.get(nil, isStream: isStream)
        #expect(text == "one" && response.cacheStatus?.isValidated == true)
        #expect(response.headers[values: .setCookie] == ["user=2"])
    }
}
