import CurlEngine

/// The requests of a session, and the queue that grants them connection slots. The actor lives on the engine thread.
actor SessionActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let executorReference: ExecutorReference
    private let limits: ConnectionLimits
    /// The exchanges that have entered the queue and have not ended.
    private var requests: [ObjectIdentifier: Member] = [:]
    private var queue: AdmissionQueue<ObjectIdentifier>
    private(set) var isShutDown = false
    /// Indicates whether the drain is over, so that requests of calls that were in flight are refused too.
    private var hasDrained = false
    /// The calls with steps that have started and have not ended, including calls whose step is running while no exchange is in progress.
    private var calls: [ObjectIdentifier: RequestActor] = [:]
    /// The requests without steps whose response was a redirect, and whose calls that follow the redirect are about to start.
    private var redirected: Set<ObjectIdentifier> = []
    /// The errors of the requests that were cancelled after a redirect, before the calls that follow it have started.
    private(set) var cancelledRedirects: [ObjectIdentifier: TrellisError] = [:]
    /// The operations made of several calls that have started and have not ended, even if none of their requests is in progress.
    private var work: [ObjectIdentifier: any SessionOperation] = [:]
    /// The continuations of ``shutDown(drainingFor:)``, resumed when no request or operation is left.
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []

    /// An exchange in the session.
    private struct Member {
        let request: ExchangeActor
        /// The place in the queue at which the exchange requests its slot.
        let place: AdmissionQueue<ObjectIdentifier>.Place
    }

    init(executor: EngineExecutor, limits: ConnectionLimits) {
        self.executor = executor
        executorReference = executor.executorReference
        self.limits = limits
        queue = AdmissionQueue(limits: limits)
    }

    /// The number of exchanges that have not ended.
    var requestCount: Int { requests.count }

    /// The requests that have not ended, in the order of their creation.
    var liveRequests: [LiveRequest] {
        let now = executor.now
        var live = Dictionary(
            uniqueKeysWithValues: calls.values.map { ($0.call.id, LiveRequest($0, now: now)) })
        for exchange in requests.values.map(\.request) where live[exchange.prepared.callID] == nil {
            live[exchange.prepared.callID] = LiveRequest(exchange.prepared, now: now)
        }
        return live.values.sorted { $0.callID < $1.callID }
    }

    // MARK: Admission

    /// Requests a connection slot, and admits the exchange if there is one. Refuses the exchange after the shutdown, unless it belongs to a
    /// call in flight.
    func enter(_ request: ExchangeActor, isPartOfCall: Bool) -> AdmissionResult {
        guard !isShutDown || isPartOfCall else { return .refused }
        let id = ObjectIdentifier(request)
        let mayShare = request.prepared.mayShareConnection && LibcurlFeatures.current.canMultiplex
        let entry = queue.enter(
            id, origin: request.prepared.queue, mayShare: mayShare,
            priority: request.prepared.source.priority)
        requests[id] = Member(request: request, place: entry.place)
        return entry.isAdmitted ? .admitted(isProbing: entry.isProbing) : .waiting
    }

    /// Admits the waiting exchanges for which the first connection to their origin has room.
    func probed(_ request: ExchangeActor, isShared: Bool) {
        let id = ObjectIdentifier(request)
        guard let place = requests[id]?.place else { return }
        admit(queue.probed(id, at: place, isShared: isShared))
    }

    /// Grants slots, each in an engine job of its own, because the caller that released the slot has not finished its own work.
    private func admit(_ ids: [ObjectIdentifier]) {
        for id in ids {
            guard let member = requests[id] else { continue }
            submit { $0.admit(member) }
        }
    }

    private func admit(_ member: Member) {
        let id = ObjectIdentifier(member.request)
        if requests[id] != nil {
            member.request.onEngineThread.admit(isProbing: false)
        } else {
            // The exchange ended before it was notified of its slot.
            admit(queue.release(id, at: member.place, isShared: nil))
        }
    }

    /// Removes an exchange that has ended.
    func didEnd(_ request: ExchangeActor, isFollowed: Bool) {
        let id = ObjectIdentifier(request)
        // An exchange that was suspended and resumed at the moment when it got a slot may have requested two.
        if let place = requests.removeValue(forKey: id)?.place { queue.leave(id, at: place) }
        // No call follows an exchange that has failed; its identity may be a later exchange's.
        if !isFollowed {
            redirected.remove(id)
            cancelledRedirects[id] = nil
        }
        resumeIfEmpty()
    }

    private var isEmpty: Bool { requests.isEmpty && calls.isEmpty && redirected.isEmpty && work.isEmpty }

    private func resumeIfEmpty() {
        guard isShutDown, isEmpty else { return }
        hasDrained = true
        for continuation in whenEmpty { continuation.resume() }
        whenEmpty = []
    }

    /// Records that the response to a request without steps was a redirect, and that a call will follow the redirect.
    func willFollow(_ request: ExchangeActor) { redirected.insert(ObjectIdentifier(request)) }

    // MARK: Calls

    /// Adds a call that starts. Returns the error of a call that the session does not accept.
    ///
    /// - Parameter request: The exchange whose response was a redirect before there was a call; `nil` if there was none.
    func begin(_ call: RequestActor, following request: ExchangeActor?) -> TrellisError? {
        if let id = request.map({ ObjectIdentifier($0) }), let error = cancelledRedirects.removeValue(forKey: id) {
            return error
        }
        let isInFlight = request.map { redirected.remove(ObjectIdentifier($0)) != nil } ?? false
        guard !isShutDown || isInFlight || call.isInFlight && !hasDrained else {
            resumeIfEmpty()
            return TrellisError(.cancelled(.sessionShutDown))
        }
        calls[ObjectIdentifier(call)] = call
        return nil
    }

    /// Removes a call that has ended.
    func didEnd(_ call: RequestActor) {
        calls[ObjectIdentifier(call)] = nil
        resumeIfEmpty()
    }

    /// Removes a waiting exchange from the queue.
    func leave(_ request: ExchangeActor) {
        let id = ObjectIdentifier(request)
        if let place = requests[id]?.place { queue.leave(id, at: place) }
    }

    /// Releases an exchange's slot, and grants it to a waiting exchange.
    func release(_ request: ExchangeActor, isShared: Bool?) {
        let id = ObjectIdentifier(request)
        guard let place = requests[id]?.place else { return }
        let next = queue.release(id, at: place, isShared: isShared)
        if !next.isEmpty { admit(next) }
    }

    /// Returns the reason why an exchange waits, for errors.
    func reasonForWaiting(_ request: ExchangeActor) -> String {
        guard let place = requests[ObjectIdentifier(request)]?.place else { return "" }
        if queue.isBeingProbed(place) { return "the first connection to \(request.prepared.origin) is being made" }
        let count = queue.connectionCount(at: place)
        let reason =
            count >= limits.perOrigin
            ? "all \(count) connections to \(request.prepared.origin) are in use"
            : "all \(limits.total) connections of the session are in use"
        let ahead = queue.countAhead(of: ObjectIdentifier(request), at: place)
        switch ahead {
        case 0: return reason + ", and it is next"
        case 1: return reason + ", and 1 request is ahead of it"
        default: return reason + ", and \(ahead) requests are ahead of it"
        }
    }

    // MARK: Operations of several calls

    /// Adds an operation made of several calls that starts. Returns `false` if the session accepts no more operations.
    func begin(_ new: any SessionOperation) -> Bool {
        guard !isShutDown else { return false }
        work[ObjectIdentifier(new)] = new
        return true
    }

    /// Removes an operation made of several calls that has ended.
    func didEnd(_ ended: any SessionOperation) {
        work[ObjectIdentifier(ended)] = nil
        resumeIfEmpty()
    }

    // MARK: End

    /// Refuses new calls, downloads and requests, lets existing ones continue for `grace`, with their retries, redirects and resumptions,
    /// and then ends them. Waits until all have ended.
    func shutDown(drainingFor grace: Duration) async {
        isShutDown = true
        hasDrained = hasDrained || isEmpty
        guard !isEmpty else { return }
        await withCheckedContinuation { continuation in
            // The continuation may be created in a later engine job than the check above, so the last request may have ended in between.
            guard !isEmpty else {
                hasDrained = true
                return continuation.resume()
            }
            whenEmpty.append(continuation)
            // The timer is released with the engine loop.
            executor.engineLoop.set(EngineTimer(self), at: executor.now.advanced(by: grace))
        }
    }

    func endDrain() {
        hasDrained = true
        cancelAll(TrellisError(.cancelled(.sessionShutDown)))
    }

    /// Ends all requests, calls and operations.
    func cancelAll(_ error: TrellisError) {
        for id in redirected { cancelledRedirects[id] = error }
        redirected = []
        // An operation may have to wait for disks; the session does not wait for them.
        for one in work.values { one.cancel(error) }
        work = [:]
        for call in calls.values { call.onEngineThread.cancel(error) }
        for request in requests.values.map(\.request) {
            request.onEngineThread.cancel(error)
        }
        resumeIfEmpty()
    }
}

/// The end of the drain when its time is over.
extension SessionActor: EngineTimerTarget {
    nonisolated func timerIsDue() { callsOnEngineThread.endDrain() }
}

/// Exchanges call the admission on the engine thread, on which the actor lives too.
extension SessionActor: @preconcurrency Admission {}

/// An operation made of several calls, such as a download. A session that shuts down waits for its end.
protocol SessionOperation: AnyObject, Sendable {
    /// Ends the operation with an error.
    func cancel(_ error: any Error)
}

/// The entry for calls into the session from code on its engine thread. Every method traps on any other thread.
protocol CallAdmission: AnyObject, Sendable {
    func begin(_ call: RequestActor, following request: ExchangeActor?) -> TrellisError?
    func didEnd(_ call: RequestActor)
    func endDrain()
}

extension SessionActor: @preconcurrency CallAdmission {
    nonisolated var callsOnEngineThread: any CallAdmission { self }
}
