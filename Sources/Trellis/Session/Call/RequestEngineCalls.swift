import CurlEngine

/// The entry into a ``RequestActor`` from code on its engine thread. Every method traps on any other thread.
protocol RequestEngineCalls: AnyObject, Sendable {
    func cancel(_ error: any Error)
    func deadlineIsOver()
}

extension RequestActor: @preconcurrency RequestEngineCalls {
    nonisolated var onEngineThread: any RequestEngineCalls { self }
}
