import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// Streams whose bytes come from the cache after an exchange with the server, in a session that records bodies.
@Suite(.timeLimit(.minutes(3)))
struct CachedStreamEndTests {
    private typealias World = CacheWorld

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Returns the text of a stream and its response at the end.
    private func read(_ world: World) async throws -> (String, Response) {
        let stream = try await world.session.stream(World.url)
        var data = Data()
        for try await chunk in stream.chunks { data += chunk }
        return (String(decoding: data, as: UTF8.self), try await stream.finalResponse())
    }

    /// The reader of the stream, which is released at the end of the loop, does not take the end from the final response.
    @Test(arguments: [false, true]) func aRecordedStreamThatA304HasConfirmedEnds(_ isOnDisk: Bool) async throws {
        let recorder = HARRecorder(bodyLimit: 1_000)
        let storage = folder.cacheStorage(isOnDisk: isOnDisk)
        let world = World(storage: storage, { $0.record(into: recorder) }) { request in
            request.headers.contains(.ifNoneMatch)
                ? World.response("", status: 304, World.fields()) : World.response("one", World.fields())
        }
        for status in ["fwd=uri-miss", "fwd=stale; fwd-status=304"] {
            let (text, response) = try await read(world)
            #expect(text == "one")
            #expect(response.cacheStatus?.description == "trellis; \(status); ttl=60; stored")
            world.pass(61)
        }
        await world.shutDown()
        try await recorder.finish()
        let responses = recorder.document.entries.map(\.response)
        #expect(responses.map(\.status) == [200, 304])
        #expect(responses.map { $0.content.text ?? "" } == ["one", ""])
        if let disk = storage as? DiskCacheStorage { await disk.close() }
    }

    @Test func aRecordedStreamInPlaceOfAFailureEnds() async throws {
        let isUp = Locked(true)
        let world = World({ $0.record(into: HARRecorder(bodyLimit: 1_000)) }) { _ in
            isUp.withLock { $0 }
                ? World.response("one", [.cacheControl: "max-age=60, stale-if-error=600"])
                : World.response("", status: 503, [:])
        }
        _ = try await read(world)
        isUp.withLock { $0 = false }
        world.pass(61)
        let (text, response) = try await read(world)
        #expect(text == "one")
        #expect(response.cacheStatus?.description.contains("detail=stale-if-error") == true)
        await world.shutDown()
    }

    /// A body whose reads wait for a gate.
    private struct GatedBody: CachedBody {
        let isReached = LoopbackServer.Gate()
        let gate = LoopbackServer.Gate()

        var length: Int64 { 3 }

        func bytes(in range: Range<Int64>) async throws -> Data {
            isReached.open()
            try await gate.opened()
            return Data("one".utf8)
        }
    }

    /// The second of two tasks that read a stored body at once gets an error, and the first one the body.
    @Test func aSecondReaderGetsAnError() async throws {
        let body = GatedBody()
        let response = Answer.test().response
        let source = CachedBodySource(body, 0..<3, nil, response, observer: nil, limit: .unlimited) {}
        let token = TransferToken(source), first = ChunkReader(token, response)
        async let chunk = first.next()
        try await body.isReached.opened()
        // The second reader is released at once.
        let error = await #expect(throws: TrellisError.self) { try await ChunkReader(token, response).next() }
        #expect(error?.phase == .receiving && error?.description.contains("one reader at a time") == true)
        body.gate.open()
        #expect(try await chunk == Data("one".utf8))
        #expect(try await first.next() == nil)
    }

    /// The status keeps its phrase, although only its code is stored.
    @Test(arguments: [(200, "OK"), (203, "Non-Authoritative Information"), (404, "Not Found"), (410, "Gone")])
    func aStoredResponseHasTheRegisteredPhrase(_ code: Int, _ phrase: String) async throws {
        let world = World { _ in World.response("one", status: code) }
        for isHit in [false, true] {
            let (_, response) = try await world.session.data(World.url)
            #expect(response.cacheStatus?.isHit == isHit && response.status.code == code)
            if isHit { #expect(response.status.reasonPhrase == phrase) }
        }
    }
}
