import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

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
}
