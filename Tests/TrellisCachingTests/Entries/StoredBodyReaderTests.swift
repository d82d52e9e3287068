import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The readers of stored bodies, and the status of stored responses.
@Suite(.timeLimit(.minutes(3)))
struct StoredBodyReaderTests {
    private typealias World = CacheWorld

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
        let response = Response(head: ResponseHead(status: .ok), url: "http://a.example/")
        let clock = MonotonicClock.system
        let source = CachedBodySource(
            body, in: 0..<3, decodedBy: nil, of: response, observer: nil, limit: .unlimited,
            deadline: CallDeadline(start: clock.now(), limit: nil, clock: clock)
        ) {}
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
