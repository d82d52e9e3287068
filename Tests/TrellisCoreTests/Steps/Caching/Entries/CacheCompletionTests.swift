import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Calls whose responses are stored parts with the bytes that they lacked (RFC 9111, section 3.4).
@Suite(.timeLimit(.minutes(3)))
struct CacheCompletionTests {
    private typealias World = CacheWorld
    private typealias Origin = PartOrigin

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // MARK: Completions

    /// A stored part, a request for more, and the request that the origin gets.
    struct Row: Sendable, CustomTestStringConvertible {
        let stored: String
        let range: String?
        let sent: String
        let text: String
        /// The range of the response; `nil` for a complete one.
        let received: String?
        let isStream: Bool
        let isOnDisk: Bool
        var testDescription: String { "\(range ?? "all") with \(stored), \(isStream), \(isOnDisk)" }

        private static let ranges: [(String, String?, String, String, String?)] = [
            ("bytes=0-4", nil, "bytes=5-", "0123456789", nil),
            ("bytes=5-", nil, "bytes=0-4", "0123456789", nil),
            ("bytes=0-4", "bytes=3-7", "bytes=5-7", "34567", "bytes 3-7/10"),
            ("bytes=4-9", "bytes=2-5", "bytes=2-3", "2345", "bytes 2-5/10"),
            ("bytes=0-4", "bytes=-7", "bytes=5-", "3456789", "bytes 3-9/10"),
        ]

        static let all: [Row] = ranges.flatMap { stored, range, sent, text, received -> [Row] in
            [(false, false), (false, true), (true, false), (true, true)].map { isStream, isOnDisk in
                Row(
                    stored: stored, range: range, sent: sent, text: text, received: received, isStream: isStream,
                    isOnDisk: isOnDisk)
            }
        }
    }

    @Test(arguments: Row.all) func theBytesThatAPartLacksAreRequested(_ row: Row) async throws {
        let origin = Origin()
        let world = World(storage: folder.cacheStorage(isOnDisk: row.isOnDisk)) { origin.response(to: $0) }
        _ = try await world.get(World.request(row.stored))
        let (text, response) = try await world.get(row.range, isStream: row.isStream)
        #expect(text == row.text && response.status == (row.received == nil ? .ok : .partialContent))
        #expect(response.headers[.contentRange] == row.received)
        #expect(response.headers[.contentLength] == "\(row.text.utf8.count)")
        let status = row.received == nil ? "trellis; fwd=partial; fwd-status=206" : "trellis; fwd=partial"
        #expect(response.cacheStatus?.description == status + "; ttl=60; stored")
        let sent = try #require(world.transport.requests.last?.headers)
        #expect(sent[values: .range] == [row.sent] && sent[values: .ifRange] == ["\"1\""])
        // Everything that both requests have brought is stored as one response.
        for range in [row.stored, row.range] {
            let (again, hit) = try await world.get(range, isStream: row.isStream)
            #expect(hit.cacheStatus?.description == "trellis; hit; ttl=60")
            let whole = "0123456789"
            let bytes = RequestedRange(World.request(range).headers)?.bytes(of: 10) ?? 0..<10
            #expect(again == String(whole.dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)))
        }
        #expect(world.transport.requests.count == 2)
        #expect(try await world.storedCount == 1)
    }

    /// The validators of a stale part are those of the request for the rest, so that the part is validated, too.
    @Test func aStalePartIsCompleted() async throws {
        let origin = Origin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        world.pass(61)
        #expect(
            try await world.get() == ["0123456789", "trellis; fwd=partial; fwd-status=206; ttl=60; stored"])
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
    }

    /// RFC 9110, section 13.1.5: with another validator, the origin sends its complete representation.
    @Test(arguments: [false, true]) func anotherRepresentationReplacesThePart(_ isStream: Bool) async throws {
        let origin = Origin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        origin.replace("abcdefghij", "\"2\"")
        let (text, response) = try await world.get(nil, isStream: isStream)
        #expect(text == "abcdefghij" && response.cacheStatus?.description == "trellis; fwd=partial; ttl=60; stored")
        #expect(try await world.get(World.request("bytes=2-3")) == ["cd", "trellis; hit; ttl=60"])
        #expect(world.transport.requests.count == 2)
    }

    @Test(arguments: [HTTPRequest.Method.get, .head]) func aRequestThatMustNotBeSentOrIsNoGetIsNotCompleted(
        _ method: HTTPRequest.Method
    ) async throws {
        let origin = Origin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        var request = Request(World.url, method: method)
        if method == .get { request.cacheMode = .onlyIfCached }
        let response = try await world.session.data(request).1
        #expect(response.status == (method == .get ? .gatewayTimeout : .ok))
        let sent = world.transport.requests.dropFirst().map { $0.headers.contains(.range) }
        #expect(sent == (method == .get ? [] : [false]))
    }

    /// A coded body is put together as it was received, and decoded for the reader.
    @Test(arguments: [false, true]) func aCodedBodyIsDecodedWhenItIsComplete(_ isStream: Bool) async throws {
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAAC/8tIzcnJBwCGphA2BQAAAA=="))
        let bytes = Array(coded)
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentEncoding: "gzip"]
        let world = World { request in
            guard let range = RequestedRange(request.headers)?.bytes(of: Int64(bytes.count)) else {
                return MockResponse(headers: fields, body: coded)
            }
            let part = Data(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            let text = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
            return MockResponse(status: 206, headers: fields + [.contentRange: text], body: part)
        }
        _ = try await world.session.data(World.request("bytes=0-9").withContentDecoding(false))
        #expect(try await world.get(nil, isStream: isStream).0 == "hello")
        #expect(world.transport.requests.last?.headers[.range] == "bytes=10-")
        #expect(try await world.get(nil, isStream: isStream).1.cacheStatus?.isHit == true)
    }

    // MARK: Parts that do not fit

    /// A response to the request for the rest that has other bytes than those.
    static let misfits: [(HTTPFields, String)] = [
        ([.contentRange: "bytes 5-9/11"], "56789"), ([.contentRange: "bytes 4-9/10"], "456789"),
        ([.contentRange: "bytes 5-8/10"], "5678"), ([.contentRange: "bytes 0-4/10"], "01234"),
        ([.contentRange: "bytes 5-9/10", .eTag: "\"2\""], "fghij"), ([.contentRange: "bytes 5-9/*"], "56789"),
        ([.contentRange: "bytes 5-9/10", .eTag: "W/\"1\""], "fghij"), ([:], "56789"),
    ]

    /// Never a wrong byte: the request is sent again as the caller has made it.
    @Test(arguments: misfits, [false, true])
    func otherBytesAreNeverCombined(_ misfit: (HTTPFields, String), _ isStream: Bool) async throws {
        try await neverCombine(misfit, status: 206, isStream)
    }

    /// Some servers send a part with the status 200.
    @Test(arguments: [false, true]) func aPartThatIsSentAsCompleteIsNotTheResponse(_ isStream: Bool) async throws {
        for range in ["bytes 5-9/10", "bytes 5-9/*", "bytes=5-9"] {
            try await neverCombine(([.contentRange: range], "56789"), status: 200, isStream)
        }
    }

    private func neverCombine(_ misfit: (HTTPFields, String), status: Int, _ isStream: Bool) async throws {
        let origin = Origin()
        let world = World { request in
            guard request.headers.contains(.ifRange) else { return origin.response(to: request) }
            let fields: HTTPFields = [.cacheControl: "max-age=60"]
            let tag: HTTPFields = misfit.0.contains(.eTag) ? [:] : [.eTag: "\"1\""]
            return World.response(misfit.1, status: status, fields + tag + misfit.0)
        }
        _ = try await world.get(World.request("bytes=0-4"))
        let (text, response) = try await world.get(nil, isStream: isStream)
        #expect(text == "0123456789" && response.cacheStatus?.description == "trellis; fwd=partial; ttl=60; stored")
        #expect(world.transport.requests.map { $0.headers[.range] } == ["bytes=0-4", "bytes=5-", nil])
        #expect(try await world.get() == ["0123456789", "trellis; hit; ttl=60"])
    }

    @Test(arguments: [304, 416]) func aRefusalOfTheRestIsNoResponse(_ status: Int) async throws {
        let origin = Origin()
        let world = World { request in
            guard request.headers.contains(.ifRange) else { return origin.response(to: request) }
            return World.response("", status: status, [.eTag: "\"1\""])
        }
        _ = try await world.get(World.request("bytes=0-4"))
        #expect(try await world.get() == ["0123456789", "trellis; fwd=partial; ttl=60; stored"])
    }

    /// A part whose body has another length than its range would move the stored bytes.
    @Test(arguments: ["5678", "56789a"], [false, true])
    func aPartOfAnotherLengthIsNotCombined(_ rest: String, _ isStream: Bool) async throws {
        let origin = Origin()
        let world = World { request in
            guard request.headers.contains(.ifRange) else { return origin.response(to: request) }
            let fields: HTTPFields = [
                .cacheControl: "max-age=60", .eTag: "\"1\"", .contentRange: "bytes 5-9/10",
            ]
            return World.response(rest, status: 206, fields)
        }
        _ = try await world.get(World.request("bytes=0-4"))
        if isStream {
            let error = await #expect(throws: TrellisError.self) {
                _ = try await world.get(nil, isStream: true)
            }
            #expect(error?.kind == .truncatedBody)
            #expect(try await world.get(World.request("bytes=0-4")) == ["01234", "trellis; hit; ttl=60"])
        } else {
            #expect(try await world.get() == ["0123456789", "trellis; fwd=partial; ttl=60; stored"])
        }
    }

    // MARK: Streams

    /// The stored part stays as it was until all bytes have come.
    @Test func aCompletionThatIsLeftStoresNothing() async throws {
        let (origin, gate) = (Origin(), LoopbackServer.Gate())
        let world = World { request in
            guard request.headers.contains(.ifRange) else { return origin.response(to: request) }
            let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentRange: "bytes 5-9/10"]
            return MockResponse(status: 206, headers: fields) { writer in
                try await writer.write("56")
                try await gate.opened()
            }
        }
        _ = try await world.get(World.request("bytes=0-4"))
        let stream = try await world.session.stream(World.url)
        var iterator = stream.chunks.makeAsyncIterator()
        var text = ""
        while text.utf8.count < 7, let chunk = try await iterator.next() {
            text += String(decoding: chunk, as: UTF8.self)
        }
        #expect(text == "0123456")
        stream.cancel()
        try await world.transport.waitUntilCancelled(count: 1)
        #expect(try await world.get(World.request("bytes=0-4")) == ["01234", "trellis; hit; ttl=60"])
        #expect(try await world.get(World.request("bytes=5-6"))[1].hasPrefix("trellis; fwd=partial"))
        gate.open()
    }

    @Test(arguments: [false, true]) func theLimitIsThatOfAllBytes(_ isStream: Bool) async throws {
        let origin = Origin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        var request = Request(World.url)
        request.maximumBodySize = .bytes(9)
        let limited = request
        let error = await #expect(throws: TrellisError.self) {
            if isStream {
                _ = try await world.session.stream(limited).chunks.reduce(into: Data()) { $0.append($1) }
            } else {
                _ = try await world.session.data(limited)
            }
        }
        #expect(error?.kind == .bodyTooLarge)
    }

    // MARK: Parts that are joined

    @Test(arguments: [false, true], [false, true])
    func aPartIsStoredWithTheOneThatItTouches(_ isStream: Bool, _ isOnDisk: Bool) async throws {
        let origin = Origin()
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { origin.response(to: $0) }
        for range in ["bytes=4-6", "bytes=0-3", "bytes=7-9"] {
            let text = try await world.get(range, isStream: isStream).0
            let bytes = try #require(RequestedRange(World.request(range).headers)?.bytes(of: 10))
            #expect(text == String("0123456789".dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)))
        }
        // No byte was asked for twice, and each request was the caller's.
        #expect(
            world.transport.requests.map { $0.headers[.range] } == ["bytes=4-6", "bytes=0-3", "bytes=7-9"])
        #expect(world.transport.requests.allSatisfy { !$0.headers.contains(.ifRange) })
        #expect(try await world.get() == ["0123456789", "trellis; hit; ttl=60"])
    }

    /// RFC 9110, section 15.3.7.3: parts with different validators are parts of different representations.
    @Test func aPartOfAnotherRepresentationReplacesTheStoredOne() async throws {
        let origin = Origin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        origin.replace("abcdefghij", "\"2\"")
        #expect(try await world.get(World.request("bytes=5-9"))[0] == "fghij")
        #expect(try await world.get(World.request("bytes=0-4")) == ["abcde", "trellis; fwd=partial; ttl=60; stored"])
        #expect(try await world.get() == ["abcdefghij", "trellis; hit; ttl=60"])
    }

    /// RFC 9111, section 3: the directives of the newer part are those of both.
    @Test func aPartThatMayNotBeStoredIsNotStoredWithAnother() async throws {
        let origin = Origin()
        let world = World { request in
            let isRest = request.headers.contains(.ifRange)
            let response = origin.response(to: request)
            guard isRest else { return response }
            return World.response(
                "56789", status: 206,
                [.cacheControl: "no-store", .eTag: "\"1\"", .contentRange: "bytes 5-9/10"])
        }
        _ = try await world.get(World.request("bytes=0-4"))
        #expect(
            try await world.get() == ["0123456789", "trellis; fwd=partial; fwd-status=206; detail=no-store"])
        #expect(try await world.storedCount == 0)
    }

    // MARK: Histories

    /// Random requests for parts of a representation that changes: each response has the bytes of one representation, that of its tag.
    @Test(arguments: [false, true]) func noByteIsThatOfAnotherRepresentation(_ isOnDisk: Bool) async throws {
        let origin = Origin()
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
        let completions = world.transport.requests.filter { $0.headers.contains(.ifRange) }
        #expect(completions.count > 5)
        #expect(world.cache.statistics.hitCount > 5)
    }
}
