import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Stored parts as the responses to requests for more or less than they have.
@Suite(.timeLimit(.minutes(3)))
struct CachePartTests {
    private typealias World = CacheWorld

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Returns the response with the bytes from `first` to `last` of ten.
    private static func part(_ first: Int, _ last: Int) -> MockResponse {
        let text = "0123456789".dropFirst(first).prefix(last - first + 1)
        return World.response(String(text), status: 206, World.fields([.contentRange: "bytes \(first)-\(last)/10"]))
    }

    /// RFC 9110, section 15.3.7.3: a part that is the complete representation is that of a 200.
    @Test(arguments: [false, true], [HTTPRequest.Method.get, .head])
    func aPartThatIsCompleteIsA200(_ isOnDisk: Bool, _ method: HTTPRequest.Method) async throws {
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { _ in Self.part(0, 9) }
        let whole = Request(World.url, headers: [.range: "bytes=0-"])
        #expect(try await world.get(whole) == ["0123456789", "trellis; fwd=uri-miss; ttl=60; stored"])
        let (data, response) = try await world.session.data(Request(World.url, method: method))
        #expect(String(decoding: data, as: UTF8.self) == (method == .get ? "0123456789" : ""))
        #expect(response.status == .ok && response.cacheStatus?.isHit == true)
        #expect(response.headers[.contentRange] == nil && response.headers[.contentLength] == "10")
        // A range is still a part.
        let part = try await world.session.data(whole).1
        #expect(part.status == .partialContent && part.headers[.contentRange] == "bytes 0-9/10")
        #expect(world.transport.requests.count == 1)
    }

    /// Some servers send a part with the status 200. It is not stored, and replaces nothing.
    @Test func aPartThatIsSentAsCompleteIsNotStored() async throws {
        let count = Locked(0)
        let world = World { _ in
            if count.next() == 1 { return World.response("0123456789", World.fields()) }
            return World.response("01234", World.fields([.contentRange: "bytes 0-4/10"]))
        }
        _ = try await world.get()
        world.pass(61)
        let response = try await world.get()
        #expect(response[0] == "01234" && response[1].hasSuffix("; detail=range"), "\(response)")
        #expect(try await world.storedCount == 1)
        #expect(try await world.get(World.request("bytes=0-4"))[1].hasSuffix("; detail=range"))
    }

    /// RFC 9111, section 4.3.2: the condition is compared with the validators of a stored 206, too.
    @Test func aConditionIsEvaluatedForAPart() async throws {
        let world = World { _ in Self.part(0, 9) }
        _ = try await world.get(Request(World.url, headers: [.range: "bytes=0-"]))
        let response = try await world.session.data(Request(World.url, headers: [.ifNoneMatch: "\"1\""])).1
        #expect(response.status == .notModified && response.headers[.contentRange] == nil)
        #expect(world.transport.requests.count == 1)
    }

    /// RFC 9111, section 4.3.1: a 304 would not make the part the response.
    @Test func theTagOfAStalePartIsNotSentForBytesThatItLacks() async throws {
        let world = World { request in
            if request.headers.contains(.ifNoneMatch) { return World.response("", status: 304, [.eTag: "\"1\""]) }
            return request.headers.contains(.range) ? Self.part(2, 5) : World.response("0123456789", World.fields())
        }
        let part = Request(World.url, headers: [.range: "bytes=2-5"])
        _ = try await world.get(part)
        world.pass(61)
        #expect(try await world.get(part) == ["2345", "trellis; fwd=stale; fwd-status=304; ttl=60; stored"])
        world.pass(61)
        #expect(try await world.get() == ["0123456789", "trellis; fwd=partial; ttl=60; stored"])
        #expect(world.transport.requests.count == 3)
    }

    /// Stored bytes and received ones are never put together: the request is sent as the caller has made it.
    @Test(arguments: ["bytes=3-7", "bytes=0-", "bytes=-6", nil], [false, true])
    func aRequestForMoreThanAPartIsSentAsItIs(_ range: String?, _ isStream: Bool) async throws {
        let origin = PartOrigin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        let (text, response) = try await world.get(range, isStream: isStream)
        let bytes = RequestedRange(World.request(range).headers)?.bytes(of: 10) ?? 0..<10
        #expect(text == String("0123456789".dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)))
        #expect(response.cacheStatus?.description == "trellis; fwd=partial; ttl=60; stored")
        #expect(world.transport.requests.map { $0.headers[.range] } == ["bytes=0-4", range])
        #expect(world.transport.requests.allSatisfy { !$0.headers.contains(.ifRange) })
        #expect(try await world.get(range, isStream: isStream).1.cacheStatus?.isHit == true)
    }

    @Test(arguments: [HTTPRequest.Method.get, .head])
    func aRequestThatMustNotBeSentGetsNoPart(_ method: HTTPRequest.Method) async throws {
        let origin = PartOrigin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        let request = Request(World.url, method: method).withCacheMode(.onlyIfCached)
        #expect(try await world.session.data(request).1.status == .gatewayTimeout)
        #expect(world.transport.requests.count == 1)
    }

    /// A part that touches the stored one, and one that does not.
    @Test(arguments: ["bytes=800-809", "bytes=990-999"])
    func aShortPartDoesNotReplaceALongerOne(_ range: String) async throws {
        let long = String(repeating: "0123456789", count: 100)
        let origin = PartOrigin(long)
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-799"))
        #expect(try await world.get(World.request(range)) == ["0123456789", "trellis; fwd=partial"])
        #expect(try await world.get(World.request("bytes=0-9")) == ["0123456789", "trellis; hit; ttl=60"])
        // A part of another representation is no part of that one.
        origin.replace(long, "\"2\"")
        #expect(try await world.get(World.request(range))[1] == "trellis; fwd=partial; ttl=60; stored")
    }

    /// RFC 9110, section 15.3.7.3: parts with different validators are parts of different representations.
    @Test func aPartOfAnotherRepresentationReplacesTheStoredOne() async throws {
        let origin = PartOrigin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        origin.replace("abcdefghij", "\"2\"")
        #expect(try await world.get(World.request("bytes=5-9"))[0] == "fghij")
        #expect(try await world.get(World.request("bytes=0-4")) == ["abcde", "trellis; fwd=partial; ttl=60; stored"])
        #expect(try await world.get() == ["abcdefghij", "trellis; fwd=partial; ttl=60; stored"])
    }

    // MARK: Histories

    /// Random requests for parts of a representation that changes: each response has the bytes of one representation, that of its tag.
    @Test(arguments: [false, true]) func noByteIsThatOfAnotherRepresentation(_ isOnDisk: Bool) async throws {
        let origin = PartOrigin()
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { origin.response(to: $0) }
        func text(_ version: Int) -> String {
            String(decoding: (0..<40).map { UInt8(97 + ($0 + version * 7) % 26) }, as: UTF8.self)
        }
        var generator = SeededGenerator(seed: isOnDisk ? 1 : 2)
        for step in 0..<Scale.count(150, all: 300) {
            if step % 9 == 0 { origin.replace(text(step), "\"\(step)\"") }
            if step % 5 == 0 { try await world.cache.removeAll() }
            let first = Int.random(in: 0..<40, using: &generator)
            let last = Int.random(in: first..<40, using: &generator)
            let isWhole = Int.random(in: 0..<4, using: &generator) == 0
            let (got, response) = try await world.get(
                isWhole ? nil : "bytes=\(first)-\(last)", isStream: Bool.random(using: &generator))
            let version = try #require(response.headers[.eTag].flatMap { Int($0.dropFirst().dropLast()) })
            var bytes: Range<Int64> = 0..<40
            if response.status == .partialContent {
                let range = try #require(response.headers[.contentRange].flatMap { ContentRange($0) })
                guard case .part(let part, total: 40) = range else {
                    Issue.record("\(range)")
                    continue
                }
                bytes = part
                #expect(part == Int64(first)..<Int64(last + 1))
            }
            let expected = text(version).dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)
            #expect(got == String(expected), "step \(step)")
            world.pass(Double(Int.random(in: 0..<20, using: &generator)))
        }
        #expect(world.cache.statistics.hitCount > 5)
    }
}
