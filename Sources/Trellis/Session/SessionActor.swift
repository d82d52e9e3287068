import CurlEngine

/// The requests of a session that began on one of its engines. The actor lives on the thread of that engine.
actor SessionActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let executorReference: ExecutorReference
    /// The exchanges that have requested a slot and have not ended.
    private var requests: [ObjectIdentifier: ExchangeActor] = [:]
    private let life: SessionLife
    /// Indicates whether the actor accepts no new requests, although other engines of the session may still do.
    private var isClosed = false
    /// The number of exchanges, calls and operations that have begun.
    private var entryCount = 0
    /// The calls with steps that have started and have not ended, including calls whose step is running while no exchange is in progress.
    private var calls: [ObjectIdentifier: RequestActor] = [:]
    /// The requests without steps whose response was a redirect, and whose calls that follow the redirect are about to start.
    private var redirected: Set<ObjectIdentifier> = []
    /// The errors of the requests that were cancelled after a redirect, before the calls that follow it have started.
    private(set) var cancelledRedirects: [ObjectIdentifier: TrellisError] = [:]
    /// The errors of the requests on other engines that are being cancelled. Their responses may come before that.
    private var cancelledElsewhere: [ObjectIdentifier: TrellisError] = [:]
    /// The operations made of several calls that have started and have not ended, even if none of their requests is in progress.
    private var work: [ObjectIdentifier: any SessionOperation] = [:]
    /// The continuations of ``waitUntilEmpty()``, resumed when no request or operation is left.
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []

    init(executor: EngineExecutor, life: SessionLife) {
        self.life = life
        self.executor = executor
        executorReference = executor.executorReference
    }

    /// The number of exchanges that have not ended.
    var requestCount: Int { requests.count }

    /// The requests that have not ended, in the order of their creation.
    var liveRequests: [LiveRequest] {
        let now = executor.now
        var live = Dictionary(
            uniqueKeysWithValues: calls.values.map { ($0.call.id, LiveRequest($0, now: now)) })
        for exchange in requests.values where live[exchange.prepared.callID] == nil {
            live[exchange.prepared.callID] = LiveRequest(exchange.prepared, now: now)
        }
        return live.values.sorted { $0.callID < $1.callID }
    }

    /// Indicates whether new requests are refused.
    private var isRefusing: Bool { isClosed || life.isShutDown }

    // MARK: Exchanges

    /// Adds an exchange that requests its first slot. Returns `false` after the shutdown, unless the exchange belongs to a call in flight.
    func add(_ exchange: ExchangeActor, isPartOfCall: Bool) -> Bool {
        guard !isRefusing || isPartOfCall else { return false }
        entryCount += 1
        requests[ObjectIdentifier(exchange)] = exchange
        return true
    }

    /// Removes an exchange that has ended.
    func didEnd(_ request: ExchangeActor, isFollowed: Bool) {
        let id = ObjectIdentifier(request)
        requests[id] = nil
        // No call follows an exchange that has failed; its identity may be a later exchange's.
        cancelledElsewhere[id] = nil
        if !isFollowed {
            redirected.remove(id)
            cancelledRedirects[id] = nil
        }
        resumeIfEmpty()
    }

    private var isEmpty: Bool { requests.isEmpty && calls.isEmpty && redirected.isEmpty && work.isEmpty }

    private func resumeIfEmpty() {
        guard !whenEmpty.isEmpty, isEmpty else { return }
        for continuation in whenEmpty { continuation.resume() }
        whenEmpty = []
    }

    /// Records that the response to a request without steps was a redirect, and that a call will follow the redirect.
    func willFollow(_ request: ExchangeActor) {
        let id = ObjectIdentifier(request)
        if let error = cancelledElsewhere[id] { cancelledRedirects[id] = error } else { redirected.insert(id) }
    }

    // MARK: Calls

    /// Adds a call that starts. Returns the error of a call that the session does not accept.
    ///
    /// - Parameter request: The exchange whose response was a redirect before there was a call; `nil` if there was none.
    func begin(_ call: RequestActor, following request: ExchangeActor?) -> TrellisError? {
        if let id = request.map({ ObjectIdentifier($0) }), let error = cancelledRedirects.removeValue(forKey: id) {
            return error
        }
        let isInFlight = request.map { redirected.remove(ObjectIdentifier($0)) != nil } ?? false
        guard !isRefusing || isInFlight && !life.hasDrained || call.isInFlight && !life.hasDrained else {
            resumeIfEmpty()
            return TrellisError(.cancelled(.sessionShutDown))
        }
        entryCount += 1
        calls[ObjectIdentifier(call)] = call
        return nil
    }

    /// Removes a call that has ended.
    func didEnd(_ call: RequestActor) {
        calls[ObjectIdentifier(call)] = nil
        resumeIfEmpty()
    }

    // MARK: Operations of several calls

    /// Adds an operation made of several calls that starts. Returns `false` if the session accepts no more operations.
    func begin(_ new: any SessionOperation) -> Bool {
        guard !isRefusing else { return false }
        entryCount += 1
        work[ObjectIdentifier(new)] = new
        return true
    }

    /// Removes an operation made of several calls that has ended.
    func didEnd(_ ended: any SessionOperation) {
        work[ObjectIdentifier(ended)] = nil
        resumeIfEmpty()
    }

    // MARK: End

    /// Refuses new requests from now on.
    func close() { isClosed = true }

    /// Waits until no request, call or operation is left.
    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            // The last request may have ended before the continuation was created.
            if isEmpty { continuation.resume() } else { whenEmpty.append(continuation) }
        }
    }

    /// The number of exchanges, calls and operations that have begun; `nil` if one of them has not ended.
    var entryCountIfEmpty: Int? { isEmpty ? entryCount : nil }

    /// Returns after everything that was submitted earlier has run.
    func settle() {}

    /// Sets a timer. The engine's loop releases it when the loop ends.
    func set(_ timer: EngineTimer, after time: Duration) {
        executor.engineLoop.set(timer, at: executor.now.advanced(by: time))
    }

    /// Ends all requests, calls and operations.
    func cancelAll(_ error: TrellisError) {
        for id in redirected { cancelledRedirects[id] = error }
        redirected = []
        // An operation may have to wait for disks; the session does not wait for them.
        for one in work.values { one.cancel(error) }
        work = [:]
        for call in calls.values { call.onEngineThread.cancel(error) }
        for request in requests.values {
            if request.hasMoved { cancelledElsewhere[ObjectIdentifier(request)] = error }
            request.perform { $0.cancel(error) }
        }
        resumeIfEmpty()
    }
}

/// Exchanges call the registry on the engine thread, on which the actor lives too.
extension SessionActor: @preconcurrency ExchangeRegistry {}

/// An operation made of several calls, such as a download. A session that shuts down waits for its end.
protocol SessionOperation: AnyObject, Sendable {
    /// Ends the operation with an error.
    func cancel(_ error: any Error)
}

/// The entry for calls into the session from code on its engine thread. Every method traps on any other thread.
protocol CallRegistry: AnyObject, Sendable {
    func begin(_ call: RequestActor, following request: ExchangeActor?) -> TrellisError?
    func didEnd(_ call: RequestActor)
}

extension SessionActor: @preconcurrency CallRegistry {
    nonisolated var callsOnEngineThread: any CallRegistry { self }
}
