import Testing

@testable import TrellisCore
@testable import TrellisDownloads

/// The limits and delays of further download attempts after interruptions.
struct DownloadBackoffTests {
    @Test func whereNothingComesItEnds() {
        var backoff = DownloadBackoff(limit: 5)
        let delays = (0..<6).map { _ in backoff.delay(random: 0) }
        #expect(
            delays == [
                .milliseconds(100), .milliseconds(400), .milliseconds(1600), .milliseconds(6400), .milliseconds(25600),
                nil,
            ])
    }

    @Test func whereSomethingComesItGoesOnForEver() {
        var backoff = DownloadBackoff(limit: 1)
        for _ in 0..<1000 {
            backoff.recordProgress(1)
            let delay = backoff.delay(random: 0.5)
            #expect(delay == .milliseconds(75))
        }
        for _ in 0..<1000 {
            backoff.recordProgress(16 << 10)
            let delay = backoff.delay(random: 0.5)
            #expect(delay == .zero)
        }
        let last = backoff.delay(random: 0)
        #expect(last == nil)
    }

    @Test func whereNothingCanBeKeptItEndsSoon() {
        var backoff = DownloadBackoff(limit: 5)
        let delays = (0..<3).map { _ in backoff.delay(random: 0, canKeepBytes: false) }
        #expect(delays == [.milliseconds(100), .milliseconds(400), nil])
        var none = DownloadBackoff(limit: 0)
        let delay = none.delay(random: 0, canKeepBytes: false)
        #expect(delay == nil)
    }

    /// A maximum replaces the other limits: the caller counts the attempts, and the backoff never ends the download before the
    /// caller does.
    @Test func aMaximumIsAllThatCounts() {
        var backoff = DownloadBackoff(limit: 1, maximum: 8)
        let delays = (0..<8).map { _ in backoff.delay(random: 0, canKeepBytes: false) }
        #expect(delays.allSatisfy { $0 != nil })
    }

    // MARK: Without a network

    /// Failures without a network are not counted for two minutes, and neither change the delays afterwards.
    @Test func failuresWithoutANetworkAreNotCounted() {
        var backoff = DownloadBackoff(limit: 2)
        var (time, count) = (Duration.zero, 0)
        let first = backoff.delay(random: 0)
        while time < .seconds(120), let delay = backoff.delay(random: 0, isOffline: true) {
            time += delay
            count += 1
        }
        #expect(first == .milliseconds(100) && count == 8 && time == .milliseconds(124_100))
        let last = [backoff.delay(random: 0, isOffline: true), backoff.delay(random: 0, isOffline: true)]
        #expect(last == [.milliseconds(400), nil])
    }

    @Test func bytesBeginTheTimeWithoutANetworkAgain() {
        var backoff = DownloadBackoff(limit: 1)
        for _ in 0..<100 {
            let delay = backoff.delay(random: 0, isOffline: true)
            #expect(delay != nil)
            backoff.recordProgress(1)
        }
    }

    @Test func theNetworkIsBack() {
        var backoff = DownloadBackoff(limit: 2)
        for _ in 0..<5 { _ = backoff.delay(random: 0, isOffline: true) }
        let delays = (0..<3).map { _ in backoff.delay(random: 0) }
        #expect(delays == [.milliseconds(100), .milliseconds(400), nil])
    }

    /// Limits that the caller has set hold without a network too.
    @Test(arguments: [(0, nil), (5, 1)] as [(Int, Int?)])
    func limitsThatHoldWithoutANetwork(_ limit: Int, _ maximum: Int?) {
        var backoff = DownloadBackoff(limit: limit, maximum: maximum)
        for _ in 0..<(maximum ?? 0) { _ = backoff.delay(random: 0, isOffline: true) }
        let delay = backoff.delay(random: 0, isOffline: true)
        #expect(delay == nil)
    }

    @Test func waitsDoNotGrowWithoutEnd() {
        var backoff = DownloadBackoff(limit: .max)
        let delays = (0..<100).map { _ in backoff.delay(random: 0) ?? .zero }
        #expect(delays.max() == .seconds(30))
    }

    @Test func beginningAnewHasAnEnd() {
        var backoff = DownloadBackoff(limit: 2)
        var restarts: [Bool] = []
        for _ in 0..<3 {
            backoff.recordProgress(1 << 20)
            restarts.append(backoff.restart())
        }
        #expect(restarts == [true, true, false])
        var strict = DownloadBackoff(limit: 0)
        let mayRestart = strict.restart()
        #expect(mayRestart)
    }
}
