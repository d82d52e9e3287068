import CurlEngine

/// The entry into a ``RequestActor`` from code on its engine thread. Every method traps on any other thread.
protocol RequestEntry: AnyObject, Sendable {
    func startInCallersTask()
    func setTimer()
    func wait(_ reader: UInt64, with reply: Reply<StepResponse>, _ conditions: ReadingConditions?)
    func leave(_ reader: UInt64)
    func cancel(_ error: any Error)
    func arrive(_ result: Result<StepResponse, any Error>)
    func settle(_ result: Result<StepResponse, any Error>)
    func report(to reply: Reply<StepResponse>)
    func deadlineIsOver()
    func send(_ exchange: ExchangeActor, collecting reply: Reply<CollectedResponse>)
    func send(_ exchange: ExchangeActor, awaitingHead reply: Reply<Response>, inbox: BodyInbox)
}

extension RequestActor: @preconcurrency RequestEntry {
    nonisolated var onEngineThread: any RequestEntry { self }
}
