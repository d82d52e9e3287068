import CurlEngine

/// The entry into a ``RequestActor`` from code on its engine thread. Every method traps on any other thread.
protocol RequestEntry: AnyObject, Sendable {
    func cancel(_ error: any Error)
    func deadlineIsOver()
}

extension RequestActor: @preconcurrency RequestEntry {
    nonisolated var onEngineThread: any RequestEntry { self }
}
