import CCurl
import Synchronization

/// Ends calls into libcurl that a server keeps busy: a thread of its own looks at the engines a few times a second, while they
/// work, and sleeps while they do not.
///
/// There is one in the process, as long as there is an engine with a libcurl handle.
final class Watchdog: Sendable {
    static let shared = Watchdog()

    private struct State {
        var watches: [CallWatch] = []
        var hasThread = false
    }

    private let state = Locked(State())
    /// The thread sleeps until it is woken.
    private let isAsleep = Atomic(false)
    private static let interval: UInt32 = 200

    /// Begins to look at an engine's calls.
    func add(_ watch: CallWatch) {
        let mustStart = state.withLock { state in
            state.watches.append(watch)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        // Without a thread nobody looks, until the next engine tries again.
        if mustStart, !start() { state.withLock { $0.hasThread = false } }
    }

    /// Looks at an engine's calls no longer. The thread ends with the last one.
    func remove(_ watch: CallWatch) {
        state.withLock { state in state.watches.removeAll { $0 === watch } }
        wake()
    }

    /// Wakes the thread if it sleeps.
    func wake() {
        // Read first: mostly it is awake, and writing would cost more.
        guard isAsleep.load(ordering: .sequentiallyConsistent),
            isAsleep.exchange(false, ordering: .sequentiallyConsistent)
        else { return }
        ccurl_watchdog_wake()
    }

    private func start() -> Bool {
        unsafe ccurl_thread_start("trellis-watch", { _ in Watchdog.shared.run() }, nil) == 0
    }

    private func run() {
        while let watches = watchesOrEnd() {
            var isBusy = false
            for watch in watches where watch.look() { isBusy = true }
            if isBusy {
                ccurl_thread_sleep_ms(Self.interval)
            } else {
                sleep(watches)
            }
        }
    }

    private func watchesOrEnd() -> [CallWatch]? {
        state.withLock { state in
            if state.watches.isEmpty { state.hasThread = false }
            return state.watches.isEmpty ? nil : state.watches
        }
    }

    /// Sleeps until an engine calls libcurl, or there are others.
    private func sleep(_ watches: [CallWatch]) {
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        // An engine that has not seen this yet has made a call that can be seen from here.
        let isUnchanged = watches.allSatisfy { !$0.hasMoved } && state.withLock { $0.watches.count } == watches.count
        if isUnchanged || !isAsleep.exchange(false, ordering: .sequentiallyConsistent) { ccurl_watchdog_sleep() }
    }
}
