/// The faults in the body of a response, as a value that divides the body into pieces. Both the transport and the server follow it.
struct FaultedBody: Sendable {
    /// A step in the sending of the body.
    enum Step: Sendable, Hashable {
        /// This number of bytes is sent.
        case send(Int)
        /// The fault happens now.
        case play(Fault)
        /// The next piece of a drip waits for a time.
        case wait(Fault, Duration)
    }

    /// The faults with the number of bytes after which they happen, in that order.
    private var cuts: [(after: Int, fault: Fault)]
    private let drip: (fault: Fault, size: Int, pause: Duration)?
    private var hasWaited = false
    private var count = 0

    init(_ faults: [Fault]) {
        let cuts = faults.compactMap { fault in fault.moment?.responseBytes.map { (after: $0, fault: fault) } }
        // The sort is stable, so that the faults of one moment stay in the order of the plan.
        self.cuts = cuts.sorted { $0.after < $1.after }
        drip =
            faults.lazy.compactMap { fault in
                if case .drip(let bytes, let pause) = fault { (fault, max(1, bytes), pause) } else { nil }
            }.first
    }

    /// Whether the body is sent as it is.
    var isPlain: Bool { cuts.isEmpty && drip == nil }

    /// Returns the next step.
    ///
    /// - Parameter available: The number of bytes that are to be sent, which is positive.
    mutating func step(available: Int) -> Step {
        if let cut = cuts.first, cut.after <= count {
            cuts.removeFirst()
            return .play(cut.fault)
        }
        var size = available
        if let cut = cuts.first { size = min(size, cut.after - count) }
        if let drip {
            size = min(size, drip.size)
            hasWaited.toggle()
            if hasWaited { return .wait(drip.fault, drip.pause) }
        }
        count += size
        return .send(size)
    }

    /// Returns the fault that happens at the end of a body that was too short for it.
    mutating func stepAtEnd() -> Fault? {
        defer { cuts = [] }
        return cuts.lazy.map(\.fault).first { if case .framing(.chunkSize) = $0 { true } else { false } }
    }
}
