private import CCurl

/// Threads for what may wait for long, such as a disk, which the pool's few threads and the engine's are not for.
///
/// There are as many as are needed at a time, up to ``maximumCount``; what comes on top waits for one of them. A thread that has
/// nothing to do waits a while for more, because starting one costs more than most reads.
package enum WaitingThread {
    /// The most threads of a process that wait at the same time.
    package static var maximumCount: Int { 64 }

    private static let crew = WaitingCrew()

    /// Runs `body` on such a thread.
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            crew.add { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body`, which may fail, on such a thread.
    package static func trying<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await run { () -> Result<Value, Failure> in
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }.get()
    }

    /// Begins `body` on such a thread, and does not wait for it.
    static func begin(_ body: @escaping @Sendable () -> Void) { crew.add(body) }
}

/// The threads of ``WaitingThread``, and what waits for one of them.
private final class WaitingCrew: Sendable {
    /// How long a thread waits for more to do.
    private static let patience: UInt32 = 5000

    private struct State {
        /// In the order in which they came; those before `first` have begun.
        var jobs: [(@Sendable () -> Void)?] = []
        var first = 0
        var threads = 0
        /// Threads that wait for a job, and that nobody has woken yet.
        var idle = 0

        mutating func next() -> (@Sendable () -> Void)? {
            guard first < jobs.count else { return nil }
            defer { jobs[first] = nil; first += 1; if first == jobs.count { (jobs, first) = ([], 0) } }
            return jobs[first]
        }
    }

    private enum Duty { case nothing, wake, start }

    private let state = Locked(State())
    private let bell = ThreadBell()

    func add(_ job: @escaping @Sendable () -> Void) {
        let duty = state.withLock { state -> Duty in
            state.jobs.append(job)
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < WaitingThread.maximumCount else { return .nothing }
            state.threads += 1
            return .start
        }
        switch duty {
        case .nothing: break
        case .wake: bell.ring()
        case .start: start()
        }
    }

    private func start() {
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe ccurl_thread_start(
            "trellis-disk", { context in unsafe WaitingCrew.work(context) }, context.toOpaque())
        guard code != 0 else { return }
        unsafe context.release()
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        // No thread is to be had: here, then.
        if isAlone { workOff() }
    }

    private static func work(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        let crew = unsafe Unmanaged<WaitingCrew>.fromOpaque(context).takeRetainedValue()
        repeat { crew.workOff() } while crew.waitForMore()
    }

    private func workOff() {
        while let job = state.withLock({ $0.next() }) { job() }
    }

    /// `false`: the thread is not needed any more.
    private func waitForMore() -> Bool {
        let mayWait = state.withLock { state in
            if state.first < state.jobs.count { return false }
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
        // It has been woken at the last moment.
        if !mayEnd { while !bell.wait(milliseconds: Self.patience) {} }
        return !mayEnd
    }
}

/// Wakes one waiting thread at a time (`sem_t`).
@safe
private final class ThreadBell: @unchecked Sendable {
    // Unchecked: the semaphore is made for several threads, and the pointer never changes.
    private let semaphore: UnsafeMutableRawPointer

    init() { unsafe semaphore = ccurl_semaphore_create() }

    deinit { unsafe ccurl_semaphore_destroy(semaphore) }

    func ring() { unsafe ccurl_semaphore_post(semaphore) }

    /// `false`: nobody has rung for so long.
    func wait(milliseconds: UInt32) -> Bool { unsafe ccurl_semaphore_wait(semaphore, milliseconds) }
}
