import Testing

@testable import CurlEngine

/// What a server has certainly not processed is sent again, whatever its method, a bounded number of times and ever more slowly.
struct HTTP2RepetitionTests {
    private typealias Repetition = HTTP2Repetition

    /// A reason, what happens to a request that may be replayed, and to one that may not.
    static let reasons: [(HTTP2Repetition.Reason, HTTP2Repetition.Decision, HTTP2Repetition.Decision)] = [
        (.reset(.refusedStream), .again(after: .zero), .again(after: .zero)),
        (.excluded(.noError), .again(after: .zero), .again(after: .zero)),
        (.excluded(.protocolError), .again(after: .zero), .again(after: .zero)),
        (.excluded(.enhanceYourCalm), .again(after: .seconds(1)), .again(after: .seconds(1))),
        (.reset(.http11Required), .againOverHTTP1, .againOverHTTP1),
        (.excluded(.http11Required), .againOverHTTP1, .againOverHTTP1),
        (.reset(.enhanceYourCalm), .fails, .fails),
        (.reset(.noError), .fails, .fails), (.reset(.cancel), .fails, .fails), (.reset(.protocolError), .fails, .fails),
        (.lost(isUsed: true), .again(after: .zero), .fails),
        (.lost(isUsed: false), .fails, .fails),
    ]

    @Test(arguments: reasons.indices) func theFirstFailure(_ index: Int) {
        let (reason, replayable, other) = Self.reasons[index]
        for (mayBeReplayed, decision) in [(true, replayable), (false, other)] {
            var repetition = Repetition(mayBeReplayed: mayBeReplayed)
            #expect(repetition.decide(reason, hasHead: false, hasLostBody: false) == decision)
            #expect(repetition.count == (decision == .fails ? 0 : 1))
        }
    }

    /// A response that has begun, and a body that cannot be read again, end the request.
    @Test(arguments: reasons.indices, [(true, false), (false, true)])
    func nothingIsSentAgain(_ index: Int, _ state: (hasHead: Bool, hasLostBody: Bool)) {
        var repetition = Repetition(mayBeReplayed: true)
        let reason = Self.reasons[index].0
        #expect(repetition.decide(reason, hasHead: state.hasHead, hasLostBody: state.hasLostBody) == .fails)
    }

    @Test func aServerThatAlwaysRefuses() {
        var repetition = Repetition(mayBeReplayed: false), waits: [Duration] = []
        while case .again(let wait) = repetition.decide(.reset(.refusedStream), hasHead: false, hasLostBody: false) {
            waits.append(wait)
        }
        #expect(waits == [.zero, .milliseconds(50), .milliseconds(100), .milliseconds(200), .milliseconds(400)])
    }

    /// Each connection takes some others. The next one may take the request at once.
    @Test func aServerThatEndsEachConnectionAfterSomeRequests() {
        var repetition = Repetition(mayBeReplayed: false), waits: [Duration] = []
        while case .again(let wait) = repetition.decide(.passedOver, hasHead: false, hasLostBody: false) {
            waits.append(wait)
        }
        #expect(waits == Array(repeating: .zero, count: Repetition.maximumPasses))
        // They leave the repetitions after a failure.
        #expect(repetition.count == 0)
        #expect(repetition.decide(.reset(.refusedStream), hasHead: false, hasLostBody: false) == .again(after: .zero))
    }

    /// A response that has begun, and a body that cannot be read again, end a request that was passed over.
    @Test(arguments: [(true, false), (false, true)])
    func aRequestThatWasPassedOverFails(_ state: (hasHead: Bool, hasLostBody: Bool)) {
        var repetition = Repetition(mayBeReplayed: true)
        #expect(repetition.decide(.passedOver, hasHead: state.hasHead, hasLostBody: state.hasLostBody) == .fails)
    }

    @Test func aServerThatEndsEachConnectionWithoutARequest() {
        var repetition = Repetition(mayBeReplayed: false), waits: [Duration] = []
        while case .again(let wait) = repetition.decide(.excluded(.noError), hasHead: false, hasLostBody: false) {
            waits.append(wait)
        }
        #expect(waits == Array(repeating: .zero, count: Repetition.maximum))
    }

    /// One more connection, after a second, and then none.
    @Test func aServerThatAlwaysAsksForCalm() {
        var repetition = Repetition(mayBeReplayed: true)
        let decisions = (0..<3).map { _ in
            repetition.decide(.excluded(.enhanceYourCalm), hasHead: false, hasLostBody: false)
        }
        #expect(decisions == [.again(after: .seconds(1)), .fails, .fails])
    }

    @Test(
        arguments: [
            (.reset(.refusedStream), true), (.reset(.http11Required), true), (.reset(.enhanceYourCalm), false),
            (.excluded(.noError), true), (.excluded(.enhanceYourCalm), true), (.passedOver, true),
            (.lost(isUsed: true), false),
        ] as [(HTTP2Repetition.Reason, Bool)])
    func whatTheServerHasNotProcessed(_ reason: HTTP2Repetition.Reason, _ isUnprocessed: Bool) {
        #expect(HTTP2Repetition.isUnprocessed(reason) == isUnprocessed)
    }

    // MARK: Calm

    private static func at(_ seconds: Int) -> EngineInstant {
        EngineInstant(nanoseconds: UInt64(seconds + 1) * 1_000_000_000)
    }

    @Test func eachCallForCalmDoublesTheWait() {
        var calm = HTTP2Calm(), waits: [Int] = [], now = 0
        #expect(!calm.isOn(at: Self.at(0)))
        for _ in 0..<8 {
            calm.didReceiveCall(at: Self.at(now))
            var wait = 0
            while calm.isOn(at: Self.at(now + wait)) { wait += 1 }
            waits.append(wait)
            now += wait
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test func aBurstIsOneCall() {
        var calm = HTTP2Calm()
        for _ in 0..<100 { calm.didReceiveCall(at: Self.at(0)) }
        #expect(calm.end == Self.at(1))
    }

    /// A response from before the call says nothing about the server's mood after it.
    @Test func aResponseEndsTheCalm() {
        var calm = HTTP2Calm()
        calm.didReceiveCall(at: Self.at(0))
        calm.didReceiveResponse(at: Self.at(0))
        #expect(calm.isOn(at: Self.at(0)))
        calm.didReceiveCall(at: Self.at(1))
        calm.didReceiveResponse(at: Self.at(3))
        #expect(calm == HTTP2Calm())
    }
}
