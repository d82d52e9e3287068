import Testing

@testable import CurlEngine

/// The connections of an origin whose pool in libcurl has got another name.
@Suite(.timeLimit(.minutes(1)))
struct SharedOriginTests {
    private let start = EngineInstant(nanoseconds: 0)
    private let origin = SharedOrigin("https://example.test")

    private func begin(_ port: Int32, isNew: Bool = true, scope: Int) {
        _ = origin.beginStream(on: port, isNew: isNew, scope: scope, now: start)
    }

    @Test func aConnectionMadeForTheFormerPoolGetsNoMoreStreams() {
        begin(1, scope: 0)
        #expect(origin.leave(1, scope: 1))
        begin(2, scope: 0)
        #expect(origin.room == 0)
        // libcurl opens a connection although the other one has room.
        origin.learnLimit()
        #expect(origin.limit == SharedOrigin.assumedLimit)
        begin(3, scope: 1)
        #expect(origin.room == SharedOrigin.assumedLimit - 1)
    }

    @Test func aLateStreamOnAConnectionThatWasLeftMakesNoRoom() {
        begin(1, scope: 0)
        #expect(origin.leave(1, scope: 1))
        begin(1, isNew: false, scope: 0)
        #expect(origin.room == 0)
        #expect(!origin.leave(1, scope: 2))
    }

    @Test func theFirstPoolIsUsedAgain() {
        begin(1, scope: 0)
        #expect(origin.leave(1, scope: 1))
        begin(2, scope: 1)
        origin.returnToFirstPool()
        #expect(origin.scope == 0)
        #expect(origin.room == 0)
        begin(3, scope: 1)
        #expect(origin.room == 0)
        begin(4, scope: 0)
        #expect(origin.room == SharedOrigin.assumedLimit - 1)
    }

    @Test func aConnectionThatWasLeftForARepetitionGetsStreamsOnceItHasOneAgain() {
        begin(1, scope: 0)
        begin(1, scope: 0)
        #expect(!origin.endStream(on: 1, isRepeated: true))
        #expect(origin.room == 0)
        begin(1, isNew: false, scope: 0)
        #expect(origin.room == SharedOrigin.assumedLimit - 2)
    }
}
