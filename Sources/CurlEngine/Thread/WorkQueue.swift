/// What waits to run on the engine thread.
enum EngineWork: Sendable {
    /// A job of an actor that lives on the engine thread, or of a task that prefers it.
    case job(UnownedJob)
    /// A plain call, for entering an actor without a task.
    case call(@Sendable () -> Void)
}

/// The queue into the engine thread, and whether the thread must be woken to see it.
struct WorkQueue {
    enum Thread { case notStarted, running, sleeping, ended }

    /// What the one who added work has to do next.
    enum Duty { case nothing, wake, startThread, runLate }

    var pending: [EngineWork] = []
    var thread = Thread.notStarted
    /// How many threads are about to signal the wake-up descriptor, which must stay open for them.
    var signallers = 0

    /// Adds work.
    mutating func add(_ work: EngineWork) -> Duty {
        pending.append(work)
        switch thread {
        case .running: return .nothing
        case .sleeping:
            thread = .running
            signallers += 1
            return .wake
        case .notStarted:
            thread = .running
            return .startThread
        case .ended:
            // One drain at a time keeps the work serial: whoever finds the queue empty runs it.
            return pending.count == 1 ? .runLate : .nothing
        }
    }

    /// Declares the thread asleep unless there is work.
    mutating func sleep() -> Bool {
        guard pending.isEmpty else { return false }
        thread = .sleeping
        return true
    }
}
