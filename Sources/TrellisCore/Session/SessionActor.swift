import CurlEngine

/// The requests of a session that began on one of its engines. The actor lives on the thread of that engine.
actor SessionActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let executorReference: ExecutorReference
    /// The exchanges that began on the engine and have not ended.
    nonisolated let list: ExchangeList
    /// The calls and operations that have begun and have not ended.
    nonisolated let calls = CallList()
    private let life: SessionLife
    /// The number of exchanges that have requested a slot and have not ended.
    private(set) var requestCount = 0
    /// Whether the actor accepts no new requests, although other engines of the session may still do.
    private var isClosed = false
    /// The number of exchanges, calls and operations that have begun.
    private var entryCount = 0
    /// The continuations of ``waitUntilEmpty()``, resumed when no request or operation is left.
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []

    init(executor: EngineExecutor, life: SessionLife, list: ExchangeList) {
        self.life = life
        self.list = list
        self.executor = executor
        executorReference = executor.executorReference
    }

    /// Whether new requests are refused.
    private var isRefusing: Bool { isClosed || life.isShutDown }

    // MARK: Exchanges

    /// Adds an exchange that requests its first slot. Returns `false` after the drain: until then, the calls in flight may still send what
    /// they need.
    func add(_ exchange: ExchangeActor) -> Bool {
        guard !isRefusing || !life.hasDrained else { return false }
        entryCount += 1
        requestCount += 1
        return true
    }

    /// Removes an exchange that has ended.
    func didEnd(_ request: ExchangeActor, wasAdded: Bool) {
        if wasAdded { requestCount -= 1 }
        resumeIfEmpty()
    }

    private var isEmpty: Bool {
        // After the drain, a call that has not reached an engine ends by itself.
        requestCount == 0 && calls.isEmpty && (life.hasDrained || !calls.hasCallsWithoutActor)
    }

    /// Resumes the tasks in ``waitUntilEmpty()`` if no request, call or operation is left.
    func resumeIfEmpty() {
        guard !whenEmpty.isEmpty, isEmpty else { return }
        let waiting = whenEmpty
        whenEmpty = []
        for continuation in waiting { continuation.resume() }
    }

    // MARK: Calls

    /// Adds a call that starts. Returns the error of a call that the session does not accept.
    func begin(_ call: RequestActor) -> TrellisError? {
        guard !isRefusing || call.isInFlight && !life.hasDrained else {
            resumeIfEmpty()
            return TrellisError.sessionIsShutDown
        }
        entryCount += 1
        calls.add(call)
        return nil
    }

    /// Removes a call that has ended.
    func didEnd(_ call: RequestActor) {
        calls.remove(call)
        resumeIfEmpty()
    }

    // MARK: Operations of several calls

    /// Adds an operation made of several calls that starts. Returns `false` if the session accepts no more operations.
    func begin(_ new: any SessionOperation) -> Bool {
        guard !isRefusing else { return false }
        entryCount += 1
        calls.add(new)
        return true
    }

    /// Removes an operation made of several calls that has ended.
    func didEnd(_ ended: any SessionOperation) {
        calls.remove(ended)
        resumeIfEmpty()
    }

    // MARK: End

    /// Refuses new requests from now on.
    func close() { isClosed = true }

    /// Waits until no request, call or operation is left.
    func waitUntilEmpty() async {
        await withContinuation { continuation in
            // The last request may have ended before the continuation was created.
            // Not appended in place, because every read would then have to check for exclusive access at run time.
            if isEmpty { continuation.resume() } else { whenEmpty = whenEmpty + [continuation] }
        }
    }

    /// The number of exchanges, calls and operations that have begun; `nil` if one of them has not ended.
    var entryCountIfEmpty: Int? { isEmpty ? entryCount : nil }

    /// Sets a timer. The engine's loop releases it when the loop ends.
    func setTimer(of target: any EngineTimerTarget & Sendable, after time: Duration) {
        executor.engineLoop.set(EngineTimer(target), at: executor.now.advanced(by: time))
    }

    /// The number of requests that are cancelled in one turn of the engine's loop.
    private static let batchSize = 256

    /// Ends all requests, calls and operations, a bounded number of them in each turn, and then calls `body`.
    func cancelAll(_ error: TrellisError, then body: @escaping @Sendable () -> Void = {}) {
        // An operation may have to wait for disks; the session does not wait for them.
        calls.cancelOperations(error)
        let requests = list.all
        cancel(calls.all[...], requests[...], with: error, then: body)
    }

    private func cancel(
        _ calls: ArraySlice<RequestActor>, _ requests: ArraySlice<ExchangeActor>, with error: TrellisError,
        then body: @escaping @Sendable () -> Void
    ) {
        let (someCalls, otherCalls) = (calls.prefix(Self.batchSize), calls.dropFirst(Self.batchSize))
        for call in someCalls { call.perform { $0.cancel(error) } }
        let count = Self.batchSize - someCalls.count
        for request in requests.prefix(count) { request.perform { $0.cancel(error) } }
        let otherRequests = requests.dropFirst(count)
        guard otherCalls.isEmpty, otherRequests.isEmpty else {
            return submit { $0.cancel(otherCalls, otherRequests, with: error, then: body) }
        }
        resumeIfEmpty()
        // The results of the exchanges are delivered first.
        executor.engineLoop.deliverSoon(CancellationEnd(body))
    }
}

/// The end of a cancellation of everything.
private final class CancellationEnd: DeferredDelivery {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func deliver() { body() }
}

/// Exchanges call the registry on the engine thread, on which the actor lives too.
extension SessionActor: @preconcurrency ExchangeRegistry {}

/// The entry for calls into the session from code on its engine thread. Every method traps on any other thread.
protocol CallRegistry: AnyObject, Sendable {
    func begin(_ call: RequestActor) -> TrellisError?
    func didEnd(_ call: RequestActor)
}

extension SessionActor: @preconcurrency CallRegistry {
    nonisolated var callsOnEngineThread: any CallRegistry { self }
}
