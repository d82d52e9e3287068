import Testing

@testable import CurlEngine

/// What a server says about streams and the end of its connection decides what is opened, and what is sent again.
struct HTTP2PolicyTests {
    private static let start = EngineInstant(nanoseconds: 1_000_000_000)

    private func policy(allowed: UInt32?? = .some(100)) -> HTTP2Policy {
        var policy = HTTP2Policy(at: Self.start)
        guard let allowed else { return policy }
        policy.didReceiveSettings(maximumStreams: allowed)
        policy.didReceiveSettingsAcknowledgement(at: Self.start)
        return policy
    }

    private func open(_ count: Int, in policy: inout HTTP2Policy) {
        for _ in 0..<count { policy.didOpenStream(at: Self.start) }
    }

    // MARK: Settings

    @Test func aHundredStreamsBeforeTheSettings() {
        var policy = policy(allowed: nil)
        #expect(policy.capacity == 100)
        open(100, in: &policy)
        #expect(policy.capacity == 0)
        policy.didReceiveSettings(maximumStreams: 128)
        #expect(policy.capacity == 28)
    }

    /// The settings, the number of open streams, and the number of streams that may be opened.
    @Test(
        arguments: [
            (0, 0, 0), (0, 3, 0), (1, 0, 1), (1, 1, 0), (1, 5, 0), (100, 99, 1), (100, 100, 0), (10_000, 0, 1_000),
            (.max, 10, 990),
        ] as [(UInt32, Int, Int)])
    func aChangeOfTheLimit(_ allowed: UInt32, _ count: Int, _ capacity: Int) {
        var policy = policy()
        open(count, in: &policy)
        policy.didReceiveSettings(maximumStreams: allowed)
        #expect(policy.capacity == capacity)
        #expect(!policy.isDraining)
    }

    @Test func withoutALimitOnlyTheEnginesOwnHolds() {
        #expect(policy(allowed: .some(nil)).capacity == 1_000)
    }

    @Test func waitingStreamsAreOpenedAsOthersEnd() {
        var policy = policy()
        open(10, in: &policy)
        policy.didReceiveSettings(maximumStreams: 8)
        for capacity in [0, 0, 1, 2] {
            policy.didCloseStream(.completed)
            #expect(policy.capacity == capacity)
        }
    }

    @Test func settingsThatAreNeverAcknowledgedEndTheConnection() {
        var policy = HTTP2Policy(at: Self.start)
        policy.didReceiveSettings(maximumStreams: 100)
        let end = Self.start.advanced(by: .seconds(30))
        #expect(policy.deadline == end)
        let before = Self.start.advanced(by: .seconds(29))
        #expect(policy.check(at: before) == .wait)
        #expect(policy.check(at: end) == .end(.settingsTimeout(.seconds(30))))
        #expect(HTTP2Fault.settingsTimeout(.seconds(30)).code == .settingsTimeout)
    }

    @Test func theAcknowledgementMeasuresTheFirstRoundTrip() {
        var policy = HTTP2Policy(at: Self.start)
        policy.didReceiveSettingsAcknowledgement(at: Self.start.advanced(by: .milliseconds(30)))
        #expect(policy.keepalive.roundTrip == 30_000_000)
        #expect(policy.deadline == nil)
    }

    // MARK: Refusals

    /// A server that refuses a stream gets no more than it has taken, until its responses show that it takes more.
    @Test func aRefusedStreamLowersTheLimit() {
        var policy = policy()
        open(6, in: &policy)
        policy.didCloseStream(.refused)
        #expect(policy.capacity == 0)
        policy.didCloseStream(.completed)
        #expect(policy.capacity == 1)
        for _ in 0..<4 { policy.didCloseStream(.completed) }
        #expect(policy.openStreams == 0 && policy.capacity == 6)
    }

    @Test func aServerThatRefusesItsOnlyStreamIsAskedAgain() {
        var policy = policy()
        open(1, in: &policy)
        policy.didCloseStream(.refused)
        #expect(policy.capacity == 1)
    }

    /// A server that takes fewer streams than it says refuses at most every tenth request.
    @Test func requestsAgainstAServerThatTakesFewer() {
        var policy = policy(), refused = 0
        for _ in 0..<1_000 {
            while policy.capacity > 0, policy.openStreams <= 10 {
                policy.didOpenStream(at: Self.start)
                guard policy.openStreams > 10 else { continue }
                policy.didCloseStream(.refused)
                refused += 1
            }
            policy.didCloseStream(.completed)
        }
        #expect(refused > 1 && refused <= 100, "\(refused)")
    }

    // MARK: GOAWAY

    private func goAway(
        _ lastStream: Int32, _ code: HTTP2ErrorCode = .noError, _ text: String = ""
    ) -> HTTP2GoAway { HTTP2GoAway(lastStream: lastStream, code: code, debug: Array(text.utf8)) }

    @Test func aGracefulPair() {
        var policy = policy()
        open(3, in: &policy)
        #expect(policy.didReceive(goAway(.max)) == nil)
        #expect(policy.isDraining && policy.capacity == 0)
        #expect([1, 3, 5].map { policy.goAway?.excludes($0) } == [false, false, false])
        #expect(policy.didReceive(goAway(3)) == nil)
        #expect([1, 3, 5].map { policy.goAway?.excludes($0) } == [false, false, true])
        policy.didCloseStream(.failed)
        #expect(policy.openStreams == 2 && policy.capacity == 0)
    }

    /// nginx sends one after each of the last responses of a connection.
    @Test func oneAfterEachResponse() {
        var policy = policy()
        open(50, in: &policy)
        for _ in 0..<50 {
            #expect(policy.didReceive(.init(kind: 1), isOpen: true, at: Self.start) == nil)
            #expect(policy.didReceive(.init(kind: 7, length: 8), isOpen: false, at: Self.start) == nil)
            #expect(policy.didReceive(goAway(99)) == nil)
            policy.didCloseStream(.completed)
        }
        #expect(policy.openStreams == 0 && policy.isDraining)
    }

    @Test func theLastStreamNeverRises() {
        var policy = policy()
        #expect(policy.didReceive(goAway(5)) == nil)
        #expect(policy.didReceive(goAway(5)) == nil)
        #expect(policy.didReceive(goAway(7)) == .risingGoAway)
    }

    @Test func theFirstErrorIsTheReason() {
        var policy = policy()
        #expect(policy.didReceive(goAway(9)) == nil)
        #expect(policy.didReceive(goAway(5, .enhanceYourCalm, "too_many_pings")) == nil)
        #expect(policy.didReceive(goAway(3)) == nil)
        let last = policy.goAway
        #expect(last?.lastStream == 3 && last?.code == .enhanceYourCalm && last?.text == "too_many_pings")
        #expect(
            last?.loss.message
                == "the server has closed the connection with GOAWAY (ENHANCE_YOUR_CALM): too_many_pings")
        #expect(last?.loss.isUnprocessed == false && last?.refusal.isUnprocessed == true)
    }

    @Test(arguments: [
        ("", ""), ("bye", "bye"), ("a\nb\u{1b}[31m", "a\\x0ab\\x1b[31m"), ("\"\\x\"", "\"\\\\x\""), ("é", "\\xc3\\xa9"),
        (String(repeating: "x", count: 256), String(repeating: "x", count: 256)),
        (String(repeating: "x", count: 16_000), String(repeating: "x", count: 256) + "…"),
    ])
    func theServersWordsAreEscaped(_ words: String, _ text: String) { #expect(goAway(0, .noError, words).text == text) }

    @Test(arguments: [
        (0, "NO_ERROR"), (7, "REFUSED_STREAM"), (13, "HTTP_1_1_REQUIRED"), (14, "0xe"), (.max, "0xffffffff"),
    ])
    func theNameOfACode(_ code: UInt32, _ name: String) { #expect(HTTP2ErrorCode(rawValue: code).name == name) }

    // MARK: Doubt

    /// An idle connection takes no request until its server has proved that it is there.
    @Test func aConnectionInDoubtTakesNoRequest() {
        var policy = policy()
        let later = Self.start.advanced(by: .seconds(20))
        #expect(policy.keepalive.checkIdle(at: later) == .ping(1))
        #expect(policy.capacity == 0 && !policy.isDraining)
        let end = later.advanced(by: .seconds(2))
        #expect(policy.deadline == end)
        #expect(policy.check(at: end) == .end(.silence(.seconds(22))))
        policy.keepalive.didReceive(at: end)
        #expect(policy.capacity == 100)
    }

    @Test func streamsHaveAnEnd() {
        var limits = HTTP2Limits.standard
        limits.streamsOfAConnection = 3
        var policy = HTTP2Policy(limits, at: Self.start)
        open(3, in: &policy)
        #expect(policy.isDraining && policy.capacity == 0)
    }

    // MARK: Any order

    /// Whatever happens in any order: the capacity is never more than the server's limit leaves, and never negative; no stream above
    /// the last one of a GOAWAY is taken as processed; an honest server meets no limit.
    @Test(arguments: 0..<50) func aRandomOrder(_ seed: UInt64) {
        var random = SplitMix(state: seed), policy = HTTP2Policy(at: Self.start), now = Self.start
        var streams: [Int32] = [], next: Int32 = 1, allowed = 100, last: Int32?
        for _ in 0..<2_000 {
            now = now.advanced(byNanoseconds: random.next() % 10_000_000)
            switch random.next() % 12 {
            case 0:
                allowed = Int(random.next() % 30)
                #expect(policy.didReceive(.init(kind: 4), isOpen: false, at: now) == nil || allowed >= 0)
                policy.didReceiveSettings(maximumStreams: UInt32(allowed))
            case 1 where random.next() % 50 == 0:
                let stream = min(last ?? .max, streams.randomElement(using: &random) ?? .max)
                last = stream
                #expect(policy.didReceive(goAway(stream)) == nil)
                for number in streams where number > stream {
                    #expect(policy.goAway?.excludes(number) == true)
                    policy.didCloseStream(.failed)
                }
                streams.removeAll { $0 > stream }
            case 2...5 where policy.capacity > 0:
                policy.didOpenStream(at: now)
                streams.append(next)
                next += 2
            case 6...9 where !streams.isEmpty:
                streams.remove(at: Int(random.next() % UInt64(streams.count)))
                let ends: [HTTP2Policy.StreamEnd] = [.completed, .completed, .refused, .failed, .reset(window: 10)]
                policy.didCloseStream(ends[Int(random.next() % 5)])
            default:
                policy.keepalive.didReceive(at: now)
                if !streams.isEmpty { #expect(policy.didReceive(.init(kind: 1), isOpen: true, at: now) == nil) }
            }
            #expect(policy.openStreams == streams.count)
            #expect(policy.capacity >= 0 && policy.capacity <= max(0, allowed - streams.count))
            #expect(policy.isDraining == (last != nil))
            #expect(last == nil || policy.capacity == 0)
        }
    }
}
