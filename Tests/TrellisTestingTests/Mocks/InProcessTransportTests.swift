import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// A server in the same process gets requests as they are sent, and responds while it reads them.
@Suite(.timeLimit(.minutes(3)))
struct InProcessTransportTests {
    @Test(arguments: TransportConformance.cases(for: TransportConformance.InProcessHost()))
    func itConforms(_ testCase: TransportConformance.Case) async throws {
        try await testCase.run(on: TransportConformance.InProcessHost())
    }

    @Test func theServerGetsTheHead() async throws {
        let transport = InProcessTransport { request in
            let head = request.httpRequest
            let text = "\(head.method) \(head.scheme ?? "") \(head.authority ?? "") \(head.path ?? "")"
            return .text("\(text) \(head.headerFields[.accept] ?? "-") \(request["accept"] ?? "-")")
        }
        let session = Session(transport: transport)
        let (data, _) = try await session.data("https://in.example:8443/a%20b?c=d", headers: [.accept: "x/y"])
        let text = String(decoding: data, as: UTF8.self)
        #expect(text == "GET https in.example:8443 /a%20b?c=d x/y x/y")
        #expect(try await session.string("https://IN.example") == "GET https in.example / - -")
    }

    /// The server responds while it reads the body: the client sends each chunk after the echo of the one before it.
    @Test func bothBodiesAreStreamedAtTheSameTime() async throws {
        let transport = InProcessTransport { request in
            MockResponse { writer in
                for try await chunk in request.body { try await writer.write(chunk) }
                writer.setTrailers([.eTag: "sum"])
            }
        }
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("0".utf8))
        let request = Request("http://in.example/", method: .post, body: .stream(chunks))
        let stream = try await Session(transport: transport).stream(request)
        var echoes: [String] = []
        for try await chunk in stream.chunks {
            echoes.append(String(decoding: chunk, as: UTF8.self))
            if echoes.count < 4 { source.yield(Data("\(echoes.count)".utf8)) } else { source.finish() }
        }
        #expect(echoes == ["0", "1", "2", "3"])
        #expect(try await stream.finalResponse().trailers[.eTag] == "sum")
    }

    /// A source produces no more than a chunk or two before the server has read.
    @Test func theSourceWaitsForTheServer() async throws {
        let produced = Locked(0), mayRead = LoopbackServer.Gate(), isAsked = LoopbackServer.Gate()
        let transport = InProcessTransport { request in
            isAsked.open()
            try await mayRead.opened()
            return .text("\(try await request.body.collect().count)")
        }
        let chunks = AsyncStream(unfolding: { () -> Data? in
            let count = produced.next()
            return count <= 100 ? Data(count: 1000) : nil
        })
        let session = Session(transport: transport)
        let call = Task { try await session.upload(chunks, to: "http://in.example/") }
        try await isAsked.opened()
        for _ in 0..<1000 { await Task.yield() }
        #expect(produced.withLock { $0 } <= 3)
        mayRead.open()
        #expect(String(decoding: try await call.value.0, as: UTF8.self) == "100000")
    }

    @Test func aBodyInMemoryIsOneChunk() async throws {
        let transport = InProcessTransport { request in
            var counts: [Int] = []
            for try await chunk in request.body { counts.append(chunk.count) }
            return .text("\(counts)")
        }
        let session = Session(transport: transport)
        let (data, _) = try await session.upload(Data(count: 7), to: "http://in.example/")
        #expect(String(decoding: data, as: UTF8.self) == "[7]")
        #expect(try await session.string("http://in.example/") == "[]")
    }

    @Test func aBodyBeyondTheLimitIsAnError() async throws {
        let transport = InProcessTransport { request in .text("\(try await request.body.collect(upTo: 6).count)") }
        let session = Session(transport: transport)
        let error = await #expect(throws: TrellisError.self) {
            try await session.upload(Data(count: 7), to: "http://in.example/")
        }
        #expect(error?.reason == .invalidRequest(.body("it is longer than 6 bytes")))
        let (data, _) = try await session.upload(Data(count: 6), to: "http://in.example/")
        #expect(String(decoding: data, as: UTF8.self) == "6")
    }

    @Test func informationalHeadsComeBeforeTheResponse() async throws {
        let transport = InProcessTransport { request in
            let link = try #require(HTTPField.Name("Link"))
            try await request.sendInformational(status: 103, headers: [link: "</style.css>"])
            return MockResponse(status: 204)
        }
        let (_, response) = try await Session(transport: transport).data("http://in.example/")
        #expect(response.informational.map(\.status.code) == [103])
        #expect(response.status.code == 204)
    }

    /// A server that reads on after an early refusal gets an error, not an end of the body.
    @Test func aRefusedBodyIsCutShort() async throws {
        let end = Locked("")
        let transport = InProcessTransport { request in
            MockResponse(status: 413) { _ in
                do {
                    let count = try await request.body.collect().count
                    end.withLock { $0 = "complete with \(count) bytes" }
                } catch is TransportFailure {
                    end.withLock { $0 = "cut short" }
                }
            }
        }
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        source.yield(Data("0".utf8))
        let session = Session(transport: transport)
        let (_, response) = try await session.upload(chunks, to: "http://in.example/")
        source.finish()
        #expect(response.status.code == 413)
        #expect(end.withLock { $0 } == "cut short")
    }

    @Test func anErrorOfTheServerIsAFailure() async {
        struct Odd: Error {}
        let session = Session(transport: InProcessTransport { _ in throw Odd() })
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://in.example/") }
        #expect(error?.kind == .other)
    }

    @Test func aCancelledRequestCancelsTheServer() async throws {
        let isCalled = LoopbackServer.Gate()
        let transport = InProcessTransport { _ in
            isCalled.open()
            try await LoopbackServer.Gate().opened()
            return MockResponse()
        }
        let session = Session(transport: transport)
        let call = Task { try await session.data("http://in.example/") }
        try await isCalled.opened()
        #expect(transport.activeCount == 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await transport.waitUntilCancelled(count: 1)
        try await transport.waitUntilIdle()
        #expect(transport.startedCount == 1)
    }
}
