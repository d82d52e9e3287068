import CurlEngine
import Testing

@testable import TrellisTesting

/// The bytes of a direction leave a proxy at the instants that its toxics give them.
struct FaultProxyStreamTests {
    private static let start = EngineInstant(nanoseconds: 1_000_000_000)

    private static func at(_ time: Duration) -> EngineInstant { start.advanced(by: time) }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

    /// Takes everything that is due from a stream, as the number of bytes of each piece.
    private static func drain(_ stream: inout FaultProxyStream, at time: Duration) -> [Int] {
        var pieces: [Int] = []
        while let bytes = stream.next(now: at(time)) {
            pieces.append(bytes.count)
            stream.didSend(bytes.count)
        }
        return pieces
    }

    private static func stream(
        _ toxics: [Toxic], taking count: Int, seed: UInt64 = 1
    ) -> FaultProxyStream {
        var (stream, generator) = (FaultProxyStream(), SeededGenerator(seed: seed))
        stream.take(bytes(count), toxics, now: start, using: &generator)
        return stream
    }

    @Test func bytesPassAtOnceWithoutToxics() {
        var stream = Self.stream([], taking: 10)
        #expect(Self.drain(&stream, at: .zero) == [10])
        #expect(stream.nextDue == nil && stream.isEmpty && stream.queued == 0)
    }

    @Test func aLatencyIsTheSumOfAll() {
        var stream = Self.stream([.latency(.seconds(2)), .latency(.seconds(1))], taking: 10)
        #expect(stream.nextDue == Self.at(.seconds(3)))
        #expect(Self.drain(&stream, at: .seconds(3) - .nanoseconds(1)) == [])
        #expect(Self.drain(&stream, at: .seconds(3)) == [10])
    }

    /// Bytes with a short delay do not overtake earlier ones.
    @Test func jitterKeepsTheOrder() {
        let toxics = [Toxic.latency(.seconds(5), jitter: .seconds(5))]
        var (stream, generator) = (FaultProxyStream(), SeededGenerator(seed: 3))
        var delays: Set<EngineInstant> = []
        for number in 0..<50 {
            var single = FaultProxyStream()
            single.take([UInt8(number)], toxics, now: Self.start, using: &generator)
            if let due = single.nextDue { delays.insert(due) }
            stream.take([UInt8(number)], toxics, now: Self.start, using: &generator)
        }
        #expect(delays.count > 10)
        #expect(delays.allSatisfy { $0 >= Self.start && $0 <= Self.at(.seconds(10)) })
        var received: [UInt8] = []
        for second in 0...10 {
            while let bytes = stream.next(now: Self.at(.seconds(second))) {
                received += bytes
                stream.didSend(bytes.count)
            }
        }
        #expect(received == (0..<50).map { UInt8($0) })
    }

    @Test(arguments: [10, 1_000, 100_000])
    func aBandwidthIsKeptOverTime(_ rate: Int) {
        var (stream, generator) = (FaultProxyStream(), SeededGenerator(seed: 1))
        let toxics = [Toxic.bandwidth(bytesPerSecond: rate)]
        for _ in 0..<3 { stream.take(Self.bytes(rate), toxics, now: Self.start, using: &generator) }
        #expect(Self.drain(&stream, at: .zero) == [])
        for second in 1...3 {
            #expect(Self.drain(&stream, at: .seconds(second)).reduce(0, +) == rate)
        }
        #expect(stream.isEmpty)
        // A pause saves nothing up.
        stream.take(Self.bytes(rate), toxics, now: Self.at(.seconds(9)), using: &generator)
        #expect(Self.drain(&stream, at: .seconds(9)) == [])
        #expect(Self.drain(&stream, at: .seconds(10)).reduce(0, +) == rate)
    }

    @Test func theSmallestBandwidthApplies() {
        var stream = Self.stream([.bandwidth(bytesPerSecond: 100), .bandwidth(bytesPerSecond: 10)], taking: 100)
        #expect(Self.drain(&stream, at: .seconds(1)).reduce(0, +) == 10)
    }

    @Test func aSlicerDividesBytesAndPauses() {
        var stream = Self.stream([.slicer(size: 4, pause: .seconds(1))], taking: 10)
        #expect(Self.drain(&stream, at: .zero) == [4])
        #expect(Self.drain(&stream, at: .seconds(1)) == [4])
        #expect(Self.drain(&stream, at: .seconds(2)) == [2])
    }

    @Test func theSizesOfSlicesVary() {
        var stream = Self.stream([.slicer(size: 10, variation: 5)], taking: 1000)
        let sizes = Self.drain(&stream, at: .zero)
        #expect(sizes.reduce(0, +) == 1000)
        #expect(sizes.dropLast().allSatisfy { (5...15).contains($0) })
        #expect(Set(sizes).count > 3)
        var other = Self.stream([.slicer(size: 10, variation: 5)], taking: 1000)
        #expect(Self.drain(&other, at: .zero) == sizes)
    }

    @Test func aTimeoutLosesBytesAndNotTheEnd() {
        var stream = Self.stream([.timeout(nil)], taking: 10)
        #expect(stream.isEmpty && stream.accepted == 0)
        stream.takeEnd(isReset: false, [.timeout(nil)], now: Self.start)
        #expect(stream.end == .init(due: Self.start, isReset: false))
    }

    @Test func aLimitCutsTheBytes() {
        var (stream, generator) = (FaultProxyStream(), SeededGenerator(seed: 1))
        stream.take(Self.bytes(6), [.byteLimit(10)], now: Self.start, using: &generator)
        #expect(!stream.isOverLimit)
        stream.take(Self.bytes(6), [.byteLimit(10)], now: Self.start, using: &generator)
        #expect(stream.isOverLimit && !stream.hasRoom)
        #expect(Self.drain(&stream, at: .zero) == [6, 4])
    }

    @Test func theEndComesAfterTheLastByteAndItsDelay() {
        var stream = Self.stream([.latency(.seconds(5))], taking: 10)
        stream.takeEnd(isReset: false, [.slowClose(.seconds(2))], now: Self.start)
        #expect(stream.end?.due == Self.at(.seconds(5)))
        var other = Self.stream([], taking: 10)
        other.takeEnd(isReset: false, [.slowClose(.seconds(2)), .slowClose(.seconds(1))], now: Self.start)
        #expect(other.end?.due == Self.at(.seconds(3)))
    }

    @Test func theRoomIsLimited() {
        var (stream, generator) = (FaultProxyStream(), SeededGenerator(seed: 1))
        for _ in 0..<4 {
            #expect(stream.hasRoom)
            stream.take(Self.bytes(FaultProxyStream.readSize), [], now: Self.start, using: &generator)
        }
        #expect(!stream.hasRoom)
        stream.didSend(1)
        #expect(stream.hasRoom)
    }
}
