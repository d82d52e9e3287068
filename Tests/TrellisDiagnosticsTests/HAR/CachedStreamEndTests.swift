import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisCaching
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
}
