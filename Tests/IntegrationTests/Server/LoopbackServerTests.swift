import Foundation
import Testing
import Trellis
import TrellisTesting

/// The scripted server follows its scripts.
@Suite(.timeLimit(.minutes(3)))
struct LoopbackServerTests {
    @Test(arguments: [RequestBody.data(Data("abc".utf8)), .stream(BodySource.chunks("a", "bc"))])
    func requestsAreRecordedAsReceived(_ body: RequestBody) async throws {
        let server = try LoopbackServer.http { _ in .init(201) }, session = Session()
        var request = Request(server.url("/path?q=1"), method: .put, body: body)
        request.headers[.accept] = "a/b"
        let (_, response) = try await session.data(request)
        #expect(response.status.code == 201)
        let received = try #require(server.requests.first)
        #expect(received.method == "PUT" && received.path == "/path" && received.query == "q=1")
        #expect(received["ACCEPT"] == "a/b" && received.headers[.accept] == "a/b")
        #expect(received.url == server.url("/path?q=1"))
        #expect(received.body == Data("abc".utf8) && received.bodyLength == 3)
        #expect(received.headBytes.starts(with: Data("PUT /path?q=1 HTTP/1.1\r\n".utf8)))
        await session.shutdown()
    }

    /// The values of several fields with one name are joined, by the request of a mock and by a received one alike.
    @Test func aMockAndAServerReadFieldsAlike() async throws {
        let server = try LoopbackServer.http { request in
            .text("\(request["accept"] ?? "-") \(request["COOKIE"] ?? "-") \(request["X-Other"] ?? "-")")
        }
        let transport = MockTransport { request in
            .text("\(request["accept"] ?? "-") \(request["COOKIE"] ?? "-") \(request["X-Other"] ?? "-")")
        }
        var request = Request(server.url())
        request.headers[values: .accept] = ["text/plain", "c/d"]
        request.headers[values: .cookie] = ["a=1", "b=2"]
        for session in [Session(), Session(transport: transport)] {
            #expect(try await session.request(request).string() == "text/plain, c/d a=1; b=2 -")
            await session.shutdown()
        }
        #expect(server.requests.first?.values(of: "Accept") == ["text/plain", "c/d"])
    }

    /// A response takes the labels of a mock's response, and fields of the same type.
    @Test func aResponseMayHaveTheLabelsOfAMock() async throws {
        let server = try LoopbackServer.http { request in
            switch request.path {
            case "/bytes": .init(status: 418, headers: [.contentType: "a/b"], body: Data("x".utf8))
            case "/chunks": .init(status: 203, headers: [.eTag: "\"1\""], body: .chunked { try $0.write("y") })
            case "/fields": .init(headers: [.eTag: "\"2\""], body: .sized(1) { try $0.write("z") })
            default: .init(status: 404)
            }
        }
        let session = Session()
        let (bytes, first) = try await session.data(server.url("/bytes"))
        #expect(first.status.code == 418 && first.headers[.contentType] == "a/b" && bytes == Data("x".utf8))
        let (chunks, second) = try await session.data(server.url("/chunks"))
        #expect(second.status.code == 203 && second.headers[.eTag] == "\"1\"" && chunks == Data("y".utf8))
        let (fields, third) = try await session.data(server.url("/fields"))
        #expect(third.status.code == 200 && third.headers[.eTag] == "\"2\"" && fields == Data("z".utf8))
        #expect(try await session.data(server.url("/other")).1.status.code == 404)
        await session.shutdown()
    }

    /// Fields are read as bytes: a space before a combining accent is one `Character` with the accent, but still a space.
    @Test func fieldsAreReadAsBytes() async throws {
        let server = try LoopbackServer.http { _ in .init() }, session = Session()
        _ = try await session.data(Request(server.url()).withHeader(.userAgent("\u{301}a")))
        #expect(server.requests.first?["User-Agent"].map { Array($0.utf8) } == Array("\u{301}a".utf8))
        await session.shutdown()
    }

    @Test func bodiesCanBeCountedWithoutBeingStored() async throws {
        let server = try LoopbackServer.http(storesBodies: false) { .text("\($0.bodyLength)") }, session = Session()
        let (data, _) = try await session.upload(.data(Data(count: 1_000_000)), to: server.url())
        #expect(String(decoding: data, as: UTF8.self) == "1000000")
        #expect(server.requests.first?.body.isEmpty == true)
        await session.shutdown()
    }

    @Test func expectationIsAnswered() async throws {
        let server = try LoopbackServer.http { .text("\($0.body.count)") }, session = Session()
        var request = Request(server.url(), method: .post, body: .data(Data(count: 100)))
        request.headers[.expect] = "100-continue"
        let (data, _) = try await session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == "100")
        await session.shutdown()
    }

    @Test func routesStreamAndFail() async throws {
        struct Oops: Error {}
        let server = try LoopbackServer.http { request in
            switch request.path {
            case "/chunks": .init(body: .chunked { body in for number in 1...3 { try body.write("\(number)\n") } })
            case "/sized": .init(body: .sized(4) { body in try body.write("four") })
            case "/raw": .init(body: .raw { try $0.write("HTTP/1.1 299 Raw\r\nContent-Length: 0\r\n\r\n") })
            default: throw Oops()
            }
        }
        let session = Session()
        #expect(try await session.data(server.url("/chunks")).0 == Data("1\n2\n3\n".utf8))
        #expect(try await session.data(server.url("/sized")).0 == Data("four".utf8))
        #expect(try await session.data(server.url("/raw")).1.status.code == 299)
        #expect(try await session.data(server.url("/other")).1.status.code == 500)
        #expect(server.errors.count == 1 && server.errors.first is Oops)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// An operation of a script that blocks, or the point at which no operation does.
    enum Block: CaseIterable { case reading, writing, gate, pause, afterTheScript, accepting }

    @Test(arguments: Block.allCases)
    func stopInterruptsWhateverBlocks(_ block: Block) async throws {
        let never = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            switch block {
            case .reading: try connection.readRequest()
            case .writing: while true { try connection.write([UInt8](repeating: 0, count: 1 << 20)) }
            case .gate: try connection.wait(for: never)
            case .pause: try connection.pause(for: .seconds(1000))
            case .afterTheScript, .accepting: break
            }
        }
        let session = Session()
        async let failed = expectFailure([.receive, .malformedResponse, .truncatedBody]) {
            try await session.data(server.url())
        }
        try await server.waitUntilRequested(count: 1)
        server.stop()
        #expect(server.openCount == 0 && server.closedCount == 1)
        #expect(server.errors.isEmpty)
        _ = await failed
        await session.shutdown()
    }

    @Test func waitingEndsWithItsTask() async throws {
        let server = try LoopbackServer { _ in }
        let waiting = Task { try await server.waitUntilClosed(count: 1) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let gate = LoopbackServer.Gate()
        let opening = Task { try await gate.opened() }
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
    }

    @Test func gateOnceOpenStaysOpen() async throws {
        let gate = LoopbackServer.Gate()
        #expect(!gate.isOpen)
        gate.open()
        gate.open()
        try await gate.opened()
        #expect(gate.isOpen)
    }

    /// The count of written bytes stops while the client does not read, and increases when the client reads.
    @Test func backpressureIsVisible() async throws {
        let half = LoopbackServer.Gate()
        let total = 64 << 20
        let server = try LoopbackServer.http { _ in
            .init(
                body: .sized(total) { body in
                    for part in 0..<64 {
                        try body.write([UInt8](repeating: 0, count: 1 << 20))
                        if part == 31 { half.open() }
                    }
                })
        }
        let session = Session()
        let stream = try await session.stream(server.url())
        #expect(server.bytesWritten < total)
        #expect(!half.isOpen, "half of it fits into no buffer on the way")
        var count = 0
        for try await chunk in stream.chunks { count += chunk.count }
        #expect(count == total)
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.bytesWritten > total)
    }

    @Test func manyConnectionsAtOnce() async throws {
        let together = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            if connection.ordinal == 50 { together.open() }
            try connection.wait(for: together)
            try connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        }
        let session = Session()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await session.data(server.url()) } }
            try await group.waitForAll()
        }
        #expect(server.acceptedCount == 50)
        await session.shutdown()
        try await server.waitUntilAllClosed()
        #expect(server.closedByPeerCount == 50)
    }
}
