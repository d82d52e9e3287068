import CurlEngine

/// Which requests a session has, and which of them may use a connection. Lives on the engine thread.
actor SessionActor: EngineActor {
    nonisolated let executor: EngineExecutor
    nonisolated let residence: EngineResidence
    private let limits: ConnectionLimits
    private var requests: [ObjectIdentifier: Member] = [:]
    private var queue: AdmissionQueue<ObjectIdentifier>
    private(set) var isShutDown = false
    /// The drain is over: what belongs to calls that were in flight does not go out any more, either.
    private var hasDrained = false
    /// Calls with steps that have started and have not ended: also while a step is at work and none of their requests is there.
    private var calls: [ObjectIdentifier: RequestActor] = [:]
    /// Requests without steps that were answered with a redirect: the calls that follow it are about to start.
    private var redirected: Set<ObjectIdentifier> = []
    /// Work made of several calls that has started and has not ended: also while none of its requests is there.
    private var work: [ObjectIdentifier: any SessionWork] = [:]
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []

    private struct Member {
        let request: ExchangeActor
        /// Where it asks for its slot.
        let place: AdmissionQueue<ObjectIdentifier>.Place
    }

    init(executor: EngineExecutor, limits: ConnectionLimits) {
        self.executor = executor
        residence = executor.residence
        self.limits = limits
        queue = AdmissionQueue(limits: limits)
    }

    /// Requests that have not ended.
    var requestCount: Int { requests.count }

    /// The requests that have not ended, in the order in which they were made.
    var liveRequests: [LiveRequest] {
        let now = executor.now
        var live = Dictionary(
            uniqueKeysWithValues: calls.values.map { ($0.call.id, LiveRequest($0.call, now: now)) })
        for exchange in requests.values.map(\.request) where live[exchange.prepared.callID] == nil {
            live[exchange.prepared.callID] = LiveRequest(exchange.prepared, now: now)
        }
        return live.values.sorted { $0.callID < $1.callID }
    }

    // MARK: Admission

    func enter(_ request: ExchangeActor) {
        guard !isShutDown || request.onEngineThread.isPartOfCall else { return request.refuseAfterShutDown() }
        let id = ObjectIdentifier(request)
        let mayShare = request.prepared.mayShareConnection && LibcurlFeatures.current.canMultiplex
        let entry = queue.enter(
            id, origin: request.prepared.queue, mayShare: mayShare,
            priority: request.prepared.transportRequest.request.priority)
        requests[id] = Member(request: request, place: entry.place)
        if entry.isAdmitted { request.onEngineThread.admit(isExploring: entry.isExploring) }
    }

    func explored(_ request: ExchangeActor, isShared: Bool) {
        let id = ObjectIdentifier(request)
        guard let place = requests[id]?.place else { return }
        admit(queue.explored(id, at: place, isShared: isShared))
    }

    /// Hands slots on, in calls of their own: the one who made room is in the middle of something.
    private func admit(_ ids: [ObjectIdentifier]) {
        for id in ids {
            guard let member = requests[id] else { continue }
            executor.submit { [self] in onEngine { $0.admit(member) } }
        }
    }

    private func admit(_ member: Member) {
        let id = ObjectIdentifier(member.request)
        if requests[id] != nil {
            member.request.onEngineThread.admit(isExploring: false)
        } else {
            // It has ended before it heard of its slot.
            admit(queue.release(id, at: member.place, isShared: nil))
        }
    }

    func didEnd(_ request: ExchangeActor) {
        let id = ObjectIdentifier(request)
        // It may have asked twice: suspended and resumed at the moment when it was given a slot.
        if let place = requests.removeValue(forKey: id)?.place { queue.leave(id, at: place) }
        if request.onEngineThread.failure != nil { redirected.remove(id) }
        resumeIfEmpty()
    }

    private var isEmpty: Bool { requests.isEmpty && calls.isEmpty && redirected.isEmpty && work.isEmpty }

    private func resumeIfEmpty() {
        guard isEmpty else { return }
        hasDrained = isShutDown
        for continuation in whenEmpty { continuation.resume() }
        whenEmpty = []
    }

    /// A request without steps is answered with a redirect, and a call follows it.
    func willFollow(_ request: ExchangeActor) { redirected.insert(ObjectIdentifier(request)) }

    // MARK: Calls

    /// A call starts. `false`: the session takes no more of them.
    ///
    /// - Parameter request: The request that was answered with a redirect before there was a call.
    func begin(_ call: RequestActor, following request: ExchangeActor?) -> Bool {
        let isInFlight = request.map { redirected.remove(ObjectIdentifier($0)) != nil } ?? false
        guard !isShutDown || isInFlight || call.isInFlight && !hasDrained else {
            resumeIfEmpty()
            return false
        }
        calls[ObjectIdentifier(call)] = call
        return true
    }

    /// A call has ended.
    func didEnd(_ call: RequestActor) {
        calls[ObjectIdentifier(call)] = nil
        resumeIfEmpty()
    }

    func leave(_ request: ExchangeActor) {
        let id = ObjectIdentifier(request)
        if let place = requests[id]?.place { queue.leave(id, at: place) }
    }

    func release(_ request: ExchangeActor) {
        let id = ObjectIdentifier(request)
        guard let place = requests[id]?.place else { return }
        let next = queue.release(id, at: place, isShared: request.onEngineThread.usedSharedConnection)
        if !next.isEmpty { admit(next) }
    }

    func reasonForWaiting(_ request: ExchangeActor) -> String {
        guard let place = requests[ObjectIdentifier(request)]?.place else { return "" }
        if queue.isBeingExplored(place) { return "the first connection to \(request.prepared.origin) is being made" }
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

    // MARK: Work of several calls

    /// Work made of several calls starts. `false`: the session takes no more of it.
    func begin(_ new: any SessionWork) -> Bool {
        guard !isShutDown else { return false }
        work[ObjectIdentifier(new)] = new
        return true
    }

    /// Work made of several calls has ended.
    func didEnd(_ ended: any SessionWork) {
        work[ObjectIdentifier(ended)] = nil
        resumeIfEmpty()
    }

    // MARK: End

    /// Takes no more calls, downloads and requests; lets those in flight go on for `grace`, with their retries, redirects and
    /// resumptions, then ends them. Returns when all have ended.
    func shutDown(drainingFor grace: Duration) async {
        isShutDown = true
        hasDrained = hasDrained || isEmpty
        guard !isEmpty else { return }
        await withCheckedContinuation { continuation in
            // This may come in a later call than what stands above: the last request may have ended meanwhile.
            guard !isEmpty else {
                hasDrained = true
                return continuation.resume()
            }
            whenEmpty.append(continuation)
            // The end of the loop lets go of it.
            executor.engineLoop.set(EngineTimer(self), at: executor.now.advanced(by: grace))
        }
    }

    private func endDrain() {
        hasDrained = true
        cancelAll(TrellisError(.cancelled(.sessionShutDown)))
    }

    /// Ends everything that is under way.
    func cancelAll(_ error: TrellisError) {
        redirected = []
        // They may have to wait for disks, which is not the session's concern.
        for one in work.values { one.cancel(error) }
        work = [:]
        for call in calls.values { call.onEngineThread.cancel(error) }
        for request in requests.values.map(\.request) {
            request.onEngineThread.cancel(error)
        }
        resumeIfEmpty()
    }
}

/// The time that was given for draining is over.
extension SessionActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngine { $0.endDrain() } }
}

/// The requests' calls come on the engine thread, where the session lives too.
extension SessionActor: @preconcurrency Admission {}

/// Work made of several calls, such as a download: a session that shuts down waits for its end.
protocol SessionWork: AnyObject, Sendable {
    /// Ends the work with an error.
    func cancel(_ error: any Error)
}

/// How calls enter the session from code that runs on its engine thread anyway. Every call traps on any other thread.
protocol CallAdmission: AnyObject, Sendable {
    func begin(_ call: RequestActor, following request: ExchangeActor?) -> Bool
    func didEnd(_ call: RequestActor)
}

extension SessionActor: @preconcurrency CallAdmission {
    nonisolated var callsOnEngineThread: any CallAdmission { self }
}

extension ExchangeActor {
    fileprivate nonisolated func refuseAfterShutDown() {
        executor.submit { self.onEngineThread.cancel(TrellisError(.cancelled(.sessionShutDown))) }
    }
}
