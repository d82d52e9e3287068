/// A piece of work that waits to run on the engine thread.
enum EngineWork: Sendable {
    /// A job of an actor that lives on the engine thread, or of a task that prefers it.
    case job(UnownedJob)
    /// A call of an actor that lives on the engine thread.
    case entry(EngineEntry)
    /// The same, with the reply to a task.
    case replyEntry(EngineReplyEntry)
    /// A call of a function.
    case call(@Sendable () -> Void)
}

/// The queue of the engine thread, with the state that decides whether the thread must be woken for new work.
struct WorkQueue {
    /// The states of the engine thread.
    enum Thread { case notStarted, running, sleeping, ended }

    /// The step that the caller must take after it has added work.
    enum RequiredAction { case nothing, wake, startThread, runLate }

    /// The work that the engine thread has not taken yet.
    var pending: [EngineWork] = []
    var thread = Thread.notStarted
    /// Whether a thread was started for the first work.
    private(set) var hasStarted = false
    /// The number of threads that are about to signal the wake-up descriptor, which must stay open for them.
    var signallers = 0

    /// Adds work. Returns the step that the caller must take next.
    mutating func add(_ work: EngineWork) -> RequiredAction {
        pending.append(work)
        switch thread {
        case .running: return .nothing
        case .sleeping:
            thread = .running
            signallers += 1
            return .wake
        case .notStarted:
            thread = .running
            hasStarted = true
            return .startThread
        case .ended:
            // Only one caller empties the queue at a time, so that work runs in series: the caller that finds the queue empty runs the
            // work.
            return pending.count == 1 ? .runLate : .nothing
        }
    }

    /// Marks the thread as asleep unless there is work. Returns whether the thread may sleep.
    mutating func sleep() -> Bool {
        guard pending.isEmpty else { return false }
        thread = .sleeping
        return true
    }
}
