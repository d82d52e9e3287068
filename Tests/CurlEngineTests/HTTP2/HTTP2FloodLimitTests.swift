import Testing

@testable import CurlEngine

/// Frames without content end a connection, in numbers that no honest server sends.
struct HTTP2FloodLimitTests {
    private typealias Frame = HTTP2Policy.Frame

    private static let start = EngineInstant(nanoseconds: 1_000_000_000)

    /// A frame that a server can send without end.
    struct Attack: Sendable, CustomTestStringConvertible {
        let kind: UInt8
        var flags: UInt8 = 0
        var length = 0
        var isOpen = true
        let fault: HTTP2Fault
        /// The number of frames that are allowed at once.
        let allowed: Int
        var perSecond = 0

        var testDescription: String { "\(fault)" }
    }

    static let attacks = [
        Attack(kind: 6, length: 8, fault: .flood(.ping), allowed: 128, perSecond: 4),
        Attack(kind: 4, fault: .flood(.settings), allowed: 64, perSecond: 1),
        Attack(kind: 4, flags: 1, fault: .flood(.other), allowed: 256, perSecond: 4),
        Attack(kind: 3, length: 4, fault: .flood(.reset), allowed: 128),
        Attack(kind: 8, length: 4, fault: .flood(.windowUpdate), allowed: 1_024, perSecond: 16),
        Attack(kind: 0, fault: .flood(.emptyData), allowed: 128, perSecond: 4),
        Attack(kind: 1, length: 10, isOpen: false, fault: .flood(.lateHeaders), allowed: 128),
        Attack(kind: 2, length: 5, fault: .flood(.other), allowed: 256, perSecond: 4),
        Attack(kind: 7, length: 8, fault: .flood(.other), allowed: 256, perSecond: 4),
        Attack(kind: 0x99, length: 100, fault: .flood(.other), allowed: 256, perSecond: 4),
        Attack(kind: 9, length: 100, fault: .continuations, allowed: 8),
        Attack(kind: 9, fault: .continuations, allowed: 8),
        Attack(kind: 5, length: 20, fault: .promise, allowed: 0),
        Attack(kind: 0, length: 1, isOpen: false, fault: .dataOnClosedStreams, allowed: 0),
    ]

    private func connection() -> HTTP2Policy {
        var policy = HTTP2Policy(at: Self.start)
        policy.didReceiveSettings(maximumStreams: 100)
        policy.didReceiveSettingsAcknowledgement(at: Self.start)
        return policy
    }

    @Test(arguments: attacks) func framesAtOnce(_ attack: Attack) {
        var policy = connection()
        let frame = Frame(kind: attack.kind, flags: attack.flags, length: attack.length)
        for _ in 0..<attack.allowed {
            #expect(policy.didReceive(frame, isOpen: attack.isOpen, at: Self.start) == nil)
        }
        #expect(policy.didReceive(frame, isOpen: attack.isOpen, at: Self.start) == attack.fault)
    }

    /// Twice as many as time allows end the connection, too, and exactly as many never do.
    @Test(arguments: attacks.filter { $0.perSecond > 0 }, [1, 2]) func framesAllTheTime(_ attack: Attack, _ factor: Int)
    {
        var policy = connection(), now = Self.start
        let frame = Frame(kind: attack.kind, flags: attack.flags, length: attack.length)
        var fault: HTTP2Fault?
        for _ in 0..<attack.allowed * 3 where fault == nil {
            now = now.advanced(byNanoseconds: UInt64(1_000_000_000 / (attack.perSecond * factor)))
            fault = policy.didReceive(frame, isOpen: attack.isOpen, at: now)
        }
        #expect(fault == (factor == 1 ? nil : attack.fault))
    }

    @Test func paddingWithoutContent() {
        var policy = connection()
        policy.didOpenStream(at: Self.start)
        for number in 1...129 {
            #expect(policy.didReceive(Frame(kind: 0, flags: 8, length: 4), isOpen: true, at: Self.start) == nil)
            let fault = policy.didReceiveData(content: 0, padding: 4, at: Self.start)
            #expect(fault == (number > 128 ? .flood(.emptyData) : nil))
        }
    }

    @Test func answersToNoPing() {
        var policy = connection()
        for number in 1...257 {
            #expect(policy.didReceive(Frame(kind: 6, flags: 1, length: 8), isOpen: false, at: Self.start) == nil)
            let fault = policy.didReceiveAnswer(7, at: Self.start)
            #expect(fault == (number > 256 ? .flood(.other) : nil))
        }
    }

    @Test func aServerThatOpensItsWindowByteByByte() {
        var policy = connection()
        policy.didOpenStream(at: Self.start)
        var count = 0
        while policy.didReceive(Frame(kind: 8, length: 4), isOpen: true, at: Self.start) == nil, count < 10_000 {
            policy.didSendData(1, isCut: true)
            count += 1
        }
        #expect(count == 1_024 + 2 + count >> 9)
    }

    @Test func aServerThatDoesNotRead() {
        let policy = connection()
        #expect(policy.fault(waitingFrames: 10_000) == nil)
        #expect(policy.fault(waitingFrames: 10_001) == .waitingFrames(10_001))
    }

    /// Content on a stream that this side has reset is allowed up to the window that the server has, and not beyond.
    @Test func contentAfterAReset() {
        var policy = connection()
        for _ in 0..<2 {
            policy.didOpenStream(at: Self.start)
            policy.didCloseStream(.reset(window: 1_000))
        }
        #expect(policy.didReceive(Frame(kind: 0, length: 1_999), isOpen: false, at: Self.start) == nil)
        #expect(policy.didReceive(Frame(kind: 0, length: 1), isOpen: false, at: Self.start) == nil)
        #expect(policy.didReceive(Frame(kind: 0, length: 1), isOpen: false, at: Self.start) == .dataOnClosedStreams)
    }

    /// Before the acknowledgement, this side does not know whether the server has the small windows or the large ones.
    @Test func contentAfterAResetBeforeTheSettingsAreAcknowledged() {
        var policy = HTTP2Policy(at: Self.start)
        policy.didOpenStream(at: Self.start)
        policy.didCloseStream(.reset(window: 65_535))
        #expect(policy.didReceive(Frame(kind: 0, length: 256 << 10), isOpen: false, at: Self.start) == nil)
        #expect(policy.didReceive(Frame(kind: 0, length: 1), isOpen: false, at: Self.start) == .dataOnClosedStreams)
    }

    // MARK: Honest servers

    /// The upload of 1 GiB in frames of 16 KiB to a server that reads 4 KiB at a time, and opens both windows after each.
    @Test func aLargeUpload() {
        var policy = connection()
        policy.didOpenStream(at: Self.start)
        for _ in 0..<1 << 16 {
            policy.didSendData(16 << 10, isCut: false)
            for _ in 0..<8 {
                #expect(policy.didReceive(Frame(kind: 8, length: 4), isOpen: true, at: Self.start) == nil)
            }
        }
    }

    /// A server takes a window of 16 MiB at once, and opens it again with two frames for each one.
    @Test func aWindowThatIsOpenedLate() {
        var policy = connection()
        policy.didOpenStream(at: Self.start)
        for _ in 0..<4 {
            for frame in 0..<1_024 { policy.didSendData(16 << 10, isCut: frame == 1_023) }
            for _ in 0..<2_048 {
                #expect(policy.didReceive(Frame(kind: 8, length: 4), isOpen: true, at: Self.start) == nil)
            }
        }
    }

    /// Messages of a few bytes, each with an update of both windows, a PING and its response.
    @Test func manySmallMessages() {
        var policy = connection()
        policy.didOpenStream(at: Self.start)
        for _ in 0..<100_000 {
            policy.didSendData(10, isCut: false)
            for kind: UInt8 in [8, 8, 6] {
                #expect(policy.didReceive(Frame(kind: kind, length: 8), isOpen: true, at: Self.start) == nil)
            }
            #expect(policy.didReceive(Frame(kind: 0, length: 10), isOpen: true, at: Self.start) == nil)
            #expect(policy.didReceiveData(content: 10, padding: 0, at: Self.start) == nil)
        }
    }

    /// A server flushes each piece of a body with an empty frame, and measures its round trip with each one.
    @Test func aDownloadWithEmptyFrames() {
        var policy = connection()
        policy.didOpenStream(at: Self.start)
        for _ in 0..<10_000 {
            #expect(policy.didReceive(Frame(kind: 0, length: 100), isOpen: true, at: Self.start) == nil)
            #expect(policy.didReceiveData(content: 100, padding: 0, at: Self.start) == nil)
            #expect(policy.didReceive(Frame(kind: 0), isOpen: true, at: Self.start) == nil)
            #expect(policy.didReceive(Frame(kind: 6, length: 8), isOpen: true, at: Self.start) == nil)
        }
    }

    /// Requests without end whose streams get a window each, a response with an unknown frame, and a reset of the rest.
    @Test func manyRequests() {
        var policy = connection()
        for _ in 0..<10_000 {
            policy.didOpenStream(at: Self.start)
            for frame in [
                Frame(kind: 8, length: 4), Frame(kind: 1), Frame(kind: 0xbb, length: 9), Frame(kind: 3, length: 4),
            ] {
                #expect(policy.didReceive(frame, isOpen: true, at: Self.start) == nil)
            }
            policy.didCloseStream(.completed)
        }
        #expect(policy.openStreams == 0)
    }

    /// A caller cancels thousands of requests whose responses were on their way: heads, content and trailers.
    @Test func manyCancellations() {
        var policy = connection()
        for _ in 0..<50 {
            for _ in 0..<100 { policy.didOpenStream(at: Self.start) }
            for _ in 0..<100 { policy.didCloseStream(.reset(window: 256 << 10)) }
            for _ in 0..<100 {
                for frame in [
                    Frame(kind: 1), Frame(kind: 1), Frame(kind: 0, length: 256 << 10), Frame(kind: 3, length: 4),
                ] {
                    #expect(policy.didReceive(frame, isOpen: false, at: Self.start) == nil)
                }
            }
        }
    }

    /// Header blocks of nine frames, one after the other.
    @Test func largeHeads() {
        var policy = connection()
        for _ in 0..<1_000 {
            policy.didOpenStream(at: Self.start)
            #expect(policy.didReceive(Frame(kind: 1, length: 16 << 10), isOpen: true, at: Self.start) == nil)
            for _ in 0..<8 {
                #expect(policy.didReceive(Frame(kind: 9, length: 16 << 10), isOpen: true, at: Self.start) == nil)
            }
            policy.didCloseStream(.completed)
        }
    }

    // MARK: Any order

    /// Whatever the order of frames, work and time: what is accepted never exceeds the allowance, and a server that stays within half of
    /// it is never refused.
    @Test(arguments: 0..<20) func aRandomOrder(_ seed: UInt64) {
        var random = SplitMix(state: seed), now = Self.start
        var meter = HTTP2FrameMeter(.standard, at: now)
        var accepted: [HTTP2Overhead: Int] = [:], refused: Set<HTTP2Overhead> = []
        for _ in 0..<20_000 {
            switch random.next() % 8 {
            case 0: now = now.advanced(byNanoseconds: random.next() % 1_000_000_000)
            case 1: meter.work.streams += 1
            case 2: meter.work.receivedData += 1
            case 3:
                (meter.work.sentData, meter.work.sentBytes) = (meter.work.sentData + 1, meter.work.sentBytes + 1_000)
            case 4: (meter.work.heads, meter.work.resets) = (meter.work.heads + 1, meter.work.resets + 1)
            default:
                let kind = HTTP2Overhead.allCases[Int(random.next() % UInt64(HTTP2Overhead.allCases.count))]
                let allowance = HTTP2Limits.standard.allowance(of: kind)
                let seconds = Int(now.nanoseconds(since: Self.start) / 1_000_000_000) + 1
                let most =
                    allowance.burst + allowance.perSecond * seconds
                    + HTTP2Limits.standard.earned(by: meter.work, for: kind)
                guard !refused.contains(kind) else { continue }
                if meter.take(kind, at: now) { accepted[kind, default: 0] += 1 } else { refused.insert(kind) }
                #expect(accepted[kind, default: 0] <= most)
                #expect(!refused.contains(kind) || accepted[kind, default: 0] >= allowance.burst)
            }
        }
    }
}

/// Random numbers that a seed repeats.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
