private import FoundationEssentials

/// The decision whether the reader of a connection waits on the socket itself.
///
/// While short messages go to and fro without a pause, the engine thread would be woken for each of them, only to wake the reader. A reader
/// whose last waits were short waits on the socket in its thread instead. The engine thread does not receive meanwhile, and stops
/// watching the socket with the first event there. The wait blocks a thread of the reader's pool, therefore it is short, and few readers
/// wait in this way at the same time. The thread stays awake at the beginning of a wait, as long as that was useful before: a message that
/// comes at once would otherwise find the thread on its way to sleep.
struct DirectReading {
    /// The limits on waits, in nanoseconds.
    struct Limits {
        /// The longest wait, with the engine thread between socket and reader, that counts as short.
        var short: Int64 = 200_000
        /// The longest part of a reader's wait on the socket in which the thread sleeps.
        var asleep: Int64 = 100_000
        /// The longest part before that in which the thread does not sleep: about the time that it takes to go to sleep and to be woken.
        /// With one core there is none, because the peer may need the core.
        var awake: Int64 = coreCount > 1 ? 20_000 : 0
    }

    /// The smallest number of short waits in a row after which the reader waits on the socket.
    static let smallestCount = 8
    /// The largest one, after waits on the socket that were in vain.
    static let largestCount = 1 << 10
    /// The number of reads after which the engine thread watches the socket again, and the reader suspends. A read on the socket does not
    /// suspend: pieces of a message that come without a pause would keep the other calls of the reader's actor waiting.
    static let readsInARow = 1 << 10
    /// The number of reads on the socket after which one short wait is enough for the next beginning: messages that went to and fro for so
    /// long are likely to go on.
    static let longRun = 64
    /// The largest number of waits in a row that begin asleep, after others whose part awake was in vain.
    static let largestSleepCount = 64
    /// The number of cores that the process may use.
    static let coreCount = ProcessInfo.processInfo.activeProcessorCount

    var limits = Limits()
    /// Whether all bytes come from the socket, because there is no TLS.
    var isPossible = false
    /// Whether the engine thread is receiving.
    var isEngineReceiving = false
    /// Whether the reader waits on the socket.
    private(set) var isReaderWaiting = false
    /// Whether the reader reads the socket, and the engine thread does not watch it.
    private(set) var isOn = false
    /// The number of times that this was begun.
    private(set) var beginCount: UInt64 = 0
    /// The number of reads on the socket by the reader.
    private(set) var readCount: UInt64 = 0
    /// The short waits in a row, and the number of them that is needed.
    private var shortCount = 0
    private var neededCount = Self.smallestCount
    /// The reads since the beginning.
    private var recentCount = 0
    /// Whether the current wait has a part in which the thread is awake.
    private var isAwake = false
    /// The number of the next waits that begin asleep, and the number of them after the next wait whose part awake is in vain.
    private var sleepCount = 0
    private var nextSleepCount = 1
    /// Whether the engine thread must have the socket again.
    var isRunOver: Bool { recentCount >= Self.readsInARow }

    /// Whether the duration of a wait with the engine thread between socket and reader is of interest.
    var measuresWaits: Bool { isPossible && !isOn }

    /// Records a wait with the engine thread between socket and reader.
    mutating func didWait(nanoseconds: Int64) {
        guard measuresWaits else { return }
        shortCount = nanoseconds <= limits.short ? shortCount + 1 : 0
    }

    /// Begins a wait on the socket, if the last waits were short. Returns the limits on its parts awake and asleep, in nanoseconds; `nil`
    /// if the reader does not wait there.
    mutating func beginWait() -> (awake: Int64, asleep: Int64)? {
        if !isOn {
            guard isPossible, !isEngineReceiving, shortCount >= neededCount else { return nil }
            isOn = true
            beginCount += 1
            (shortCount, recentCount) = (0, 0)
        }
        isReaderWaiting = true
        isAwake = sleepCount == 0 && limits.awake > 0
        if sleepCount > 0 { sleepCount -= 1 }
        return (isAwake ? limits.awake : 0, limits.asleep)
    }

    /// Records a read on the socket.
    ///
    /// - Parameter hasSlept: Whether the thread has slept until the bytes came.
    mutating func didRead(hasSlept: Bool) {
        isReaderWaiting = false
        didWaitAwake(inVain: hasSlept)
        readCount += 1
        recentCount += 1
        if recentCount == Self.smallestCount { neededCount = Self.smallestCount }
    }

    /// The reason why the reader leaves the socket to the engine thread.
    enum End {
        /// The reader does not read any more, or has read for long.
        case over
        /// Too many other readers wait on their sockets.
        case refused
        /// A wait on the socket was in vain.
        case inVain
    }

    /// Leaves the socket to the engine thread. Returns `false` if the engine thread had it.
    ///
    /// After a reader was refused, or has waited in vain, more short waits are needed, unless many waits were not in vain.
    mutating func end(_ end: End) -> Bool {
        guard isOn else { return false }
        if end == .inVain { didWaitAwake(inVain: true) }
        (isOn, isReaderWaiting) = (false, false)
        if recentCount >= Self.longRun {
            shortCount = neededCount - 1
        } else if end != .over {
            neededCount = min(2 * neededCount, Self.largestCount)
        }
        return true
    }

    /// Records the end of a wait's part in which the thread was awake, if there was one. After some that were in vain, fewer waits begin
    /// awake.
    private mutating func didWaitAwake(inVain: Bool) {
        guard isAwake else { return }
        isAwake = false
        if inVain {
            (sleepCount, nextSleepCount) = (nextSleepCount, min(2 * nextSleepCount, Self.largestSleepCount))
        } else {
            nextSleepCount = 1
        }
    }
}
