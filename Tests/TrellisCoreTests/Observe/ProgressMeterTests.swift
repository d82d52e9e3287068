import CurlEngine
import Testing

@testable import TrellisCore

/// The progress that a meter computes from byte counts and instants.
struct ProgressMeterTests {
    private static func at(_ milliseconds: UInt64) -> EngineInstant {
        EngineInstant(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000)
    }

    private var meter = ProgressMeter(start: at(0), total: 1000)

    @Test mutating func observersAreToldAtMostTenTimesASecond() {
        // 10 bytes every 10 ms, for a second.
        var reports: [UInt64] = []
        for time in stride(from: UInt64(0), to: 1000, by: 10) where meter.advance(by: 10, at: Self.at(time)) {
            reports.append(time)
        }
        #expect(reports == Array(stride(from: 0, to: 1000, by: 100)))
        #expect(meter.completed == 1000)
    }

    @Test mutating func aSteadyTransferHasItsRate() throws {
        for time in stride(from: UInt64(1000), through: 3000, by: 50) { _ = meter.advance(by: 5, at: Self.at(time)) }
        let progress = meter.progress(at: Self.at(3000))
        // The second before the first bytes does not count as transfer time.
        #expect(try abs(#require(progress.bytesPerSecond) - 100) < 1e-9)
        #expect(progress.completedBytes == 205 && progress.elapsed == .seconds(3))
        let left = try #require(progress.estimatedTimeLeft)
        #expect(abs(left / .seconds(7.95) - 1) < 1e-9)
    }

    @Test mutating func theRateFollowsAChangeWithinSeconds() throws {
        for time in stride(from: UInt64(0), through: 10_000, by: 100) { _ = meter.advance(by: 100, at: Self.at(time)) }
        for time in stride(from: UInt64(10_100), through: 12_000, by: 100) {
            _ = meter.advance(by: 10, at: Self.at(time))
        }
        let soon = try #require(meter.progress(at: Self.at(12_000)).bytesPerSecond)
        #expect(soon > 400 && soon < 500)
        for time in stride(from: UInt64(12_100), through: 30_000, by: 100) {
            _ = meter.advance(by: 10, at: Self.at(time))
        }
        #expect(try abs(#require(meter.progress(at: Self.at(30_000)).bytesPerSecond) - 100) < 1)
    }

    @Test mutating func whatWasThereBeforeIsNoSpeed() throws {
        meter.jump(to: 900, at: Self.at(10))
        _ = meter.advance(by: 10, at: Self.at(1000))
        _ = meter.advance(by: 10, at: Self.at(2000))
        let progress = meter.progress(at: Self.at(2000))
        #expect(progress.completedBytes == 920 && progress.transferredBytes == 20 && progress.fraction == 0.92)
        #expect(progress.bytesPerSecond == 10)
        meter.finish(at: Self.at(4000))
        #expect(meter.progress(at: Self.at(9000)).bytesPerSecond == 5)
    }

    @Test func theRestOfMoreThanCanBeCountedTakesACentury() {
        let progress = TransferProgress(completedBytes: -10, totalBytes: .max, bytesPerSecond: 1)
        #expect(progress.estimatedTimeLeft == .seconds(3_153_600_000))
    }

    @Test mutating func startingOverGoesBack() {
        _ = meter.advance(by: 500, at: Self.at(100))
        meter.jump(to: 0, at: Self.at(200))
        _ = meter.advance(by: 50, at: Self.at(1200))
        #expect(meter.progress(at: Self.at(1200)).completedBytes == 50)
    }

    @Test mutating func theEndIsTheEnd() {
        _ = meter.advance(by: 400, at: Self.at(500))
        meter.finish(at: Self.at(2000))
        let isTold = meter.advance(by: 400, at: Self.at(3000))
        #expect(!isTold)
        meter.finish(at: Self.at(4000))
        meter.expect(7)
        meter.jump(to: 1, at: Self.at(3000))
        #expect(
            meter.progress(at: Self.at(5000))
                == TransferProgress(
                    completedBytes: 400, totalBytes: 1000, bytesPerSecond: 200, elapsed: .seconds(2)))
    }

    @Test(
        arguments: [
            (5, 10, 0.5), (10, 10, 1), (12, 10, 1), (0, 0, 1), (0, 10, 0), (3, nil, nil),
        ] as [(Int64, Int64?, Double?)])
    func fraction(_ completed: Int64, _ total: Int64?, _ fraction: Double?) {
        #expect(TransferProgress(completedBytes: completed, totalBytes: total).fraction == fraction)
    }

    @Test(
        arguments: [
            (5, 10, 1, .seconds(5)), (5, 10, nil, nil), (5, 10, 0, nil), (10, 10, nil, .zero), (5, nil, 1, nil),
            (0, .max, 1e-300, .seconds(3_153_600_000)),
        ] as [(Int64, Int64?, Double?, Duration?)])
    func estimatedTimeLeft(_ completed: Int64, _ total: Int64?, _ rate: Double?, _ left: Duration?) {
        let progress = TransferProgress(completedBytes: completed, totalBytes: total, bytesPerSecond: rate)
        #expect(progress.estimatedTimeLeft == left)
    }

    @Test mutating func nothingIsNoMovement() {
        let isTold = [meter.advance(by: 0, at: Self.at(1)), meter.advance(by: -5, at: Self.at(2))]
        #expect(isTold == [false, false])
        #expect(meter.progress(at: Self.at(1000)).bytesPerSecond == nil)
    }
}
