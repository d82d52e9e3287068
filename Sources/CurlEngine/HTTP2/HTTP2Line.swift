/// The transfers that wait for a stream, or for the protocol of the server, in the order in which they are served.
struct HTTP2Line {
    /// The transfers that have waited before, and are first: they tried to make a connection beside others.
    private var returned = FIFO<Transfer>()
    /// The others. Some may have left since.
    private var waiting = FIFO<Transfer>()
    /// The number of waiting transfers.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Adds a transfer.
    ///
    /// - Parameter isFirst: Whether the transfer waits before those that have not returned.
    mutating func append(_ transfer: Transfer, isFirst: Bool = false) {
        transfer.connection.wire.sharing = .waiting
        if isFirst { returned.append(transfer) } else { waiting.append(transfer) }
        count += 1
    }

    /// Records that a transfer waits no longer.
    mutating func didLeave() {
        count -= 1
        // One search for many transfers.
        if waiting.count > 2 * count + 16 { waiting.removeAll { $0.wire.sharing != .waiting } }
    }

    /// The transfer that is next.
    mutating func peek() -> Transfer? {
        while let first = returned.peek, first.wire.sharing != .waiting { _ = returned.popFirst() }
        if let first = returned.peek { return first }
        while let first = waiting.peek, first.wire.sharing != .waiting { _ = waiting.popFirst() }
        return waiting.peek
    }

    /// Removes and returns the transfers that are next.
    mutating func take(_ limit: Int) -> [Transfer] {
        var taken: [Transfer] = []
        while taken.count < limit, let transfer = peek() {
            _ = returned.isEmpty ? waiting.popFirst() : returned.popFirst()
            transfer.connection.wire.sharing = .none
            taken.append(transfer)
            count -= 1
        }
        return taken
    }
}

/// What is known of the protocol of an origin's server.
struct HTTP2Memory {
    /// The time for which a server counts as one without HTTP/2.
    private static let time = Duration.seconds(600)

    /// Whether the server has spoken HTTP/2 last.
    private(set) var speaksHTTP2 = false
    /// Whether the server has agreed on HTTP/2, and then demanded HTTP/1.1 for the connection.
    private(set) var refusesHTTP2 = false
    /// The instant up to which the server counts as one without HTTP/2.
    private var end: EngineInstant?

    /// Records that a connection speaks HTTP/2.
    mutating func didAgree() { (speaksHTTP2, refusesHTTP2, end) = (true, false, nil) }

    /// Records that the server speaks HTTP/1.1.
    ///
    /// - Parameter refusesHTTP2: Whether the server has agreed on HTTP/2 before it said so.
    mutating func didChooseHTTP1(now: EngineInstant, refusesHTTP2: Bool = false) {
        (speaksHTTP2, self.refusesHTTP2, end) = (false, refusesHTTP2, now.advanced(by: Self.time))
    }

    /// Returns whether the server counts as one without HTTP/2.
    func isHTTP1(at now: EngineInstant) -> Bool { end.map { now < $0 } ?? false }
}
