private import CCurl

/// Threads for jobs that block, and the jobs that wait for one of them. A thread is started if all others are busy, up to a limit, and ends
/// when it has had no job for some seconds.
///
/// The jobs of one place, such as a folder, take at most a quarter of the threads that the other places leave. Several folders may be on
/// one disk: while all of them hang, there are threads for further places. Jobs without a place always have an eighth of the threads.
final class BlockingThreads: Sendable {
    /// The time for which a thread waits for another job, in milliseconds.
    private static let patience: UInt32 = 5000

    /// The jobs of one place.
    private struct Place {
        /// The number of jobs that have a thread, or are the next to get one.
        var count = 0
        /// The jobs that wait for the end of another one, in the order of their arrival.
        var rest = FIFO<@Sendable () -> Void>()
    }

    private struct State {
        /// The jobs that no thread has begun, in the order of their arrival.
        var jobs = FIFO<@Sendable () -> Void>()
        /// The places that have jobs.
        var places: [String: Place] = [:]
        /// The places whose jobs wait, each once, in the order of their turns.
        var turns = FIFO<String>()
        /// The number of jobs with a place that have a thread, or are the next to get one.
        var placed = 0
        /// The number of threads.
        var threads = 0
        /// The number of threads that wait for a job and have not been woken.
        var idle = 0
    }

    /// The step that remains after a job was added.
    private enum RequiredAction { case nothing, wake, start }

    /// The name of each thread in a debugger.
    private let name: String
    /// The largest number of threads.
    private let limit: Int
    private let state = Locked(State())
    private let bell = ThreadSemaphore()

    init(_ name: String, limit: Int) {
        self.name = name
        self.limit = limit
    }

    /// Adds a job, and starts a thread for it if all threads are busy and the limit allows another.
    ///
    /// - Parameter place: The place of the job; `nil` for a job that has none.
    func add(_ job: @escaping @Sendable () -> Void, at place: String? = nil) {
        let duty = state.withLock { state -> RequiredAction in
            guard let place else {
                state.jobs.append(job)
                return engage(&state)
            }
            if state.places[place]?.rest.isEmpty ?? true { state.turns.append(place) }
            state.places[place, default: Place()].rest.append(job)
            return beginNext(&state) ? engage(&state) : .nothing
        }
        switch duty {
        case .nothing: break
        case .wake: bell.ring()
        case .start: start()
        }
    }

    /// Lets the first waiting job of the next place begin. Returns `false` if none may.
    ///
    /// A place that has its share of the threads passes its turn on. However many places wait, there are fewer such places than threads.
    private func beginNext(_ state: inout State) -> Bool {
        guard state.placed < max(limit - max(limit / 8, 1), 1) else { return false }
        for _ in 0..<state.turns.count {
            guard let place = state.turns.popFirst() else { return false }
            let job = mayBegin(at: place, state) ? state.places[place]?.rest.popFirst() : nil
            if state.places[place]?.rest.isEmpty == false { state.turns.append(place) }
            guard let job else { continue }
            state.places[place]?.count += 1
            state.placed += 1
            state.jobs.append { self.run(job, at: place) }
            return true
        }
        return false
    }

    /// Returns whether a place has fewer threads than its share.
    private func mayBegin(at place: String, _ state: State) -> Bool {
        let count = state.places[place]?.count ?? 0
        return count < max((limit - (state.placed - count)) / 4, 1)
    }

    /// Engages a thread for a job that was added.
    private func engage(_ state: inout State) -> RequiredAction {
        if state.idle > 0 {
            state.idle -= 1
            return .wake
        }
        guard state.threads < limit else { return .nothing }
        state.threads += 1
        return .start
    }

    /// Runs a job of a place. The next job follows on this thread, or on another one, after the jobs that were added before.
    private func run(_ job: () -> Void, at place: String) {
        job()
        state.withLock { state in
            state.placed -= 1
            state.places[place]?.count -= 1
            if let left = state.places[place], left.count == 0, left.rest.isEmpty { state.places[place] = nil }
            _ = beginNext(&state)
        }
    }

    private func start() {
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe ccurl_thread_start(
            name, { context in unsafe BlockingThreads.work(context) }, context.toOpaque())
        guard code != 0 else { return }
        unsafe context.release()
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        // The system refuses to start a thread. The caller may be an engine, so the pool runs the jobs.
        if isAlone { Task.detached { self.workOff() } }
    }

    /// Whether the calling thread is made for jobs that block.
    static var isCalling: Bool { ccurl_thread_may_wait() }

    private static func work(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        let threads = unsafe Unmanaged<BlockingThreads>.fromOpaque(context).takeRetainedValue()
        ccurl_thread_set_may_wait(true)
        repeat { threads.workOff() } while threads.waitForMore()
    }

    private func workOff() {
        while let job = state.withLock({ $0.jobs.popFirst() }) { job() }
    }

    /// Waits for another job. Returns `false` if the thread is not needed any more.
    private func waitForMore() -> Bool {
        let mayWait = state.withLock { state -> Bool in
            guard state.jobs.isEmpty else { return false }
            state.idle += 1
            return true
        }
        guard mayWait, !bell.wait(milliseconds: Self.patience) else { return true }
        let mayEnd = state.withLock { state in
            guard state.idle > 0 else { return false }
            state.idle -= 1
            state.threads -= 1
            return true
        }
        // The thread has been woken at the last moment.
        if !mayEnd { while !bell.wait(milliseconds: Self.patience) {} }
        return !mayEnd
    }
}

/// A semaphore that wakes one waiting thread at a time (`sem_t`).
@safe
private final class ThreadSemaphore: @unchecked Sendable {
    // Unchecked: the semaphore is made for several threads, and the pointer never changes.
    private let semaphore: UnsafeMutableRawPointer

    init() { unsafe semaphore = ccurl_semaphore_create() }

    deinit { unsafe ccurl_semaphore_destroy(semaphore) }

    func ring() { unsafe ccurl_semaphore_post(semaphore) }

    /// Waits until a ring arrives. Returns `false` if none has arrived after `milliseconds`.
    func wait(milliseconds: UInt32) -> Bool { unsafe ccurl_semaphore_wait(semaphore, milliseconds) }
}
