/// The limit on the bytes that all transfers of an engine decode in one turn of its loop, and the transfers that wait because of it.
///
/// A few bytes on the wire can become gibibytes, and the bodies of many transfers together much more. A transfer that reaches the limit
/// waits in line; each turn lets the first one go on, and further ones until the limit is reached again. Thus no timer, no job and no other
/// transfer waits for more than the limit and one piece of each transfer.
struct DecodingTurns {
    /// The largest number of decoded bytes in one turn, beyond which each transfer delivers at most one more piece.
    static let limit = 4 << 20

    /// The turn in which bytes were decoded last, and the number of these bytes.
    private var turn = EngineInstant(nanoseconds: 0)
    private var count = 0
    private var waiting = FIFO<Transfer>()
    /// Whether a job that lets transfers go on is in the engine's queue.
    private var isScheduled = false

    /// Whether transfers wait.
    var hasWaiting: Bool { !waiting.isEmpty }

    /// Counts decoded bytes. Returns whether the limit of the turn is reached.
    mutating func isUsedUp(by bytes: Int = 0, turn: EngineInstant) -> Bool {
        if self.turn != turn { (self.turn, count) = (turn, 0) }
        count += bytes
        return count >= Self.limit
    }

    /// Adds a transfer to the waiting ones.
    mutating func enter(_ transfer: Transfer) { waiting.append(transfer) }

    /// Returns whether transfers wait and no job lets them go on yet. The caller then adds one to the engine's queue.
    mutating func schedule() -> Bool {
        guard !isScheduled, hasWaiting else { return false }
        isScheduled = true
        return true
    }

    /// Records that the job runs.
    mutating func jobBegins() { isScheduled = false }

    /// Removes and returns the first waiting transfer that goes on, if any.
    mutating func next() -> Transfer? {
        while let transfer = waiting.popFirst() {
            if !transfer.isCancelled { return transfer }
        }
        return nil
    }
}
