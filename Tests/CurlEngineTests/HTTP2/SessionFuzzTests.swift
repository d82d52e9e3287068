import Testing

@testable import CurlEngine

/// Whatever a server sends, each stream has one end, and no byte is read or written outside of its memory, as the sanitizers would tell.
@Suite(.enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct SessionFuzzTests {
    /// Random numbers that are the same in each run (splitmix64).
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return value ^ value >> 31
        }

        mutating func chance(_ one: UInt64) -> Bool { next() % one == 0 }
        mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    }

    private func frame(_ numbers: inout Numbers, streams: Int) -> [UInt8] {
        let stream = UInt32(2 * numbers.below(streams) + 1), ends = numbers.chance(3)
        switch numbers.below(12) {
        case 0...3:
            let fields = [(":status", numbers.chance(8) ? "103" : "200"), ("a", "1"), ("content-length", "3")]
            return HTTP2Bytes.head(stream, Array(fields.prefix(1 + numbers.below(3))), ends: ends)
        case 4...6: return HTTP2Bytes.data(String(repeating: "x", count: numbers.below(40)), stream, ends: ends)
        case 7: return HTTP2Bytes.reset(UInt32(numbers.below(14)), stream)
        case 8: return HTTP2Bytes.settings([(UInt16(numbers.below(7)), UInt32(numbers.below(1 << 17)))])
        case 9: return HTTP2Bytes.ping(1, acknowledges: ends)
        case 10: return HTTP2Bytes.windowUpdate(UInt32(1 + numbers.below(1 << 16)), ends ? 0 : stream)
        default: return numbers.chance(4) ? HTTP2Bytes.goAway(last: stream, code: 0, "x") : HTTP2Bytes.ping(0)
        }
    }

    @Test(arguments: 0..<16)
    func eachStreamHasOneEnd(_ seed: UInt64) throws {
        for round in 0..<25 {
            var numbers = Numbers(state: seed << 32 + UInt64(round))
            let run = try SessionRun()
            let streams = 1 + numbers.below(5)
            for _ in 0..<streams {
                try run.submit("POST", body: numbers.chance(2) ? .none : .stream(length: nil))
                run.parts.append(numbers.chance(2) ? HTTP2BodyPart(count: numbers.below(9), isEnd: true) : nil)
            }
            run.sent()
            run.didReceiveBody = { stream in if stream.number % 4 == 1 { run.session?.hold(stream) } }
            var bytes = HTTP2Bytes.settings() + HTTP2Bytes.frame(4, flags: 1)
            for _ in 0..<numbers.below(30) { bytes += frame(&numbers, streams: streams) }
            if numbers.chance(2) { bytes[18 + numbers.below(bytes.count - 17) - 1] ^= UInt8(1) << numbers.below(8) }
            var start = 0
            while start < bytes.count {
                let count = min(1 + numbers.below(60), bytes.count - start)
                run.receive(Array(bytes[start..<start + count]))
                run.sent()
                start += count
                if numbers.chance(6) { run.session?.release(run.streams[numbers.below(streams)]) }
            }
            run.session?.connectionEnded(EngineFailure(kind: .receive, message: "lost"))
            run.didReceiveBody = { _ in }
            for stream in run.streams { run.session?.release(stream) }
            for stream in run.streams {
                let name = stream.number == 1 ? "" : " \(stream.number)"
                let ends = run.events.count { event in
                    event == "end\(name)" || event.hasPrefix("end\(name) a:") || event.hasPrefix("failed\(name):")
                }
                #expect(ends == 1, "seed \(seed), round \(round), stream \(stream.number): \(run.events)")
                #expect(!stream.isActive)
            }
            #expect(run.session?.activeStreams == 0)
        }
    }
}
