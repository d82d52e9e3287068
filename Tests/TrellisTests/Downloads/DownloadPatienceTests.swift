import Testing

@testable import Trellis

/// How long a download goes on after interruptions.
struct DownloadPatienceTests {
    @Test func whereNothingComesItEnds() {
        var patience = DownloadPatience(limit: 5)
        let delays = (0..<6).map { _ in patience.delay(random: 0) }
        #expect(
            delays == [
                .milliseconds(100), .milliseconds(400), .milliseconds(1600), .milliseconds(6400), .milliseconds(25600),
                nil,
            ])
    }

    @Test func whereSomethingComesItGoesOnForEver() {
        var patience = DownloadPatience(limit: 1)
        for _ in 0..<1000 {
            patience.gain(1)
            let delay = patience.delay(random: 0.5)
            #expect(delay == .milliseconds(75))
        }
        for _ in 0..<1000 {
            patience.gain(16 << 10)
            let delay = patience.delay(random: 0.5)
            #expect(delay == .zero)
        }
        let last = patience.delay(random: 0)
        #expect(last == nil)
    }

    @Test func whereNothingCanBeKeptItEndsSoon() {
        var patience = DownloadPatience(limit: 5)
        let delays = (0..<3).map { _ in patience.delay(random: 0, canGain: false) }
        #expect(delays == [.milliseconds(100), .milliseconds(400), nil])
        var none = DownloadPatience(limit: 0)
        let delay = none.delay(random: 0, canGain: false)
        #expect(delay == nil)
    }

    /// Somebody else counts: it does not end before that one says so.
    @Test func aMaximumIsAllThatCounts() {
        var patience = DownloadPatience(limit: 1, maximum: 8)
        let delays = (0..<8).map { _ in patience.delay(random: 0, canGain: false) }
        #expect(delays.allSatisfy { $0 != nil })
    }

    @Test func waitsDoNotGrowWithoutEnd() {
        var patience = DownloadPatience(limit: .max)
        let delays = (0..<100).map { _ in patience.delay(random: 0) ?? .zero }
        #expect(delays.max() == .seconds(30))
    }

    @Test func beginningAnewHasAnEnd() {
        var patience = DownloadPatience(limit: 2)
        var restarts: [Bool] = []
        for _ in 0..<3 {
            patience.gain(1 << 20)
            restarts.append(patience.restart())
        }
        #expect(restarts == [true, true, false])
        var strict = DownloadPatience(limit: 0)
        let mayRestart = strict.restart()
        #expect(mayRestart)
    }
}
