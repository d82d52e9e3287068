import CCurl
import Synchronization

/// The thread that ends calls into libcurl and OpenSSL that a server keeps busy. The thread checks the engines a few times per second while
/// they make such calls, and sleeps while they do not.
///
/// The process has one watchdog, whose thread runs as long as an engine may have connections.
final class Watchdog: Sendable {
    /// The watchdog of the process.
    static let shared = Watchdog()

    private struct State {
        var watches: [CallWatch] = []
        var hasThread = false
    }

    private let state = Locked(State())
    /// Whether the thread sleeps until it is woken.
    private let isAsleep = Atomic(false)
    /// The time between two checks of the engines, in milliseconds.
    private static let interval: UInt32 = 200

    /// Adds an engine, whose calls are watched from now on.
    func add(_ watch: CallWatch) {
        let mustStart = state.withLock { state in
            state.watches.append(watch)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        // Without a thread, no call is watched until the next engine tries to start one.
        if mustStart, !start() { state.withLock { $0.hasThread = false } }
    }

    /// Removes an engine, whose calls are no longer watched. The thread ends with the last engine.
    func remove(_ watch: CallWatch) {
        state.withLock { state in state.watches.removeAll { $0 === watch } }
        wake()
    }

    // MARK: The end of the process

    /// Whether the process exits, so that no engine may call libcurl or OpenSSL.
    var processExits: Bool { isExiting.load(ordering: .sequentiallyConsistent) }
    private let isExiting = Atomic(false)

    /// Lets no engine call libcurl or OpenSSL any more, and waits for the calls under way, for 100 ms at most. When a process exits while
    /// its engines run, these libraries release at that moment what the calls would use.
    ///
    /// - Parameter wait: Waits for a millisecond.
    func processWillExit(_ wait: () -> Void = { ccurl_thread_sleep_ms(1) }) {
        isExiting.store(true, ordering: .sequentiallyConsistent)
        let watches = state.withLock { $0.watches }
        for _ in 0..<100 where watches.contains(where: \.isInside) { wait() }
    }

    /// Wakes the thread if it sleeps.
    func wake() {
        // The flag is read first, because the thread is mostly awake, and writing would cost more.
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

    /// Sleeps until an engine calls libcurl or OpenSSL, or the list of engines changes.
    private func sleep(_ watches: [CallWatch]) {
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        // An engine that has not yet read `isAsleep` has made a call that is visible here.
        let present = state.withLock { $0.watches }
        let isUnchanged = watches.allSatisfy { !$0.hasMoved } && present.elementsEqual(watches) { $0 === $1 }
        if isUnchanged || !isAsleep.exchange(false, ordering: .sequentiallyConsistent) { ccurl_watchdog_sleep() }
    }
}
