import CurlEngine

/// Which requests a session has, and which of them may use a connection. Lives on the engine thread.
actor SessionActor: EngineActor {
    nonisolated let executor: EngineExecutor
    private let limits: ConnectionLimits
    private var requests: [ObjectIdentifier: RequestActor] = [:]
    private var queue: AdmissionQueue<ObjectIdentifier>
    private var isShutDown = false
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []

    init(executor: EngineExecutor, limits: ConnectionLimits) {
        self.executor = executor
        self.limits = limits
        queue = AdmissionQueue(limits: limits)
    }

    /// Requests that have not ended.
    var requestCount: Int { requests.count }

    // MARK: Admission

    fileprivate func admit(_ request: RequestActor) {
        guard !isShutDown else { return request.refuseAfterShutDown() }
        requests[ObjectIdentifier(request)] = request
        if queue.enter(ObjectIdentifier(request), origin: request.prepared.origin) { request.onEngine { $0.admit() } }
    }

    fileprivate func forget(_ request: RequestActor) {
        requests[ObjectIdentifier(request)] = nil
        guard requests.isEmpty else { return }
        for continuation in whenEmpty { continuation.resume() }
        whenEmpty = []
    }

    fileprivate func leaveQueue(_ request: RequestActor) {
        queue.leave(ObjectIdentifier(request), origin: request.prepared.origin)
    }

    fileprivate func releaseSlot(_ request: RequestActor) {
        let isMultiplexed = request.onEngine { $0.isMultiplexed }
        for id in queue.release(origin: request.prepared.origin, isMultiplexed: isMultiplexed) {
            // In a call of its own: the one who releases is in the middle of its end.
            if let next = requests[id] { executor.submit { next.onEngine { $0.admit() } } }
        }
    }

    fileprivate func waitingReason(_ request: RequestActor) -> String {
        let active = queue.activeCount(origin: request.prepared.origin)
        return active >= limits.perOrigin
            ? "all \(active) connections to \(request.prepared.origin) are in use"
            : "all \(limits.total) connections of the session are in use"
    }

    // MARK: End

    /// Takes no more requests; lets those in flight go on for `grace`, then ends them. Returns when all have ended.
    func shutDown(drainingFor grace: Duration) async {
        isShutDown = true
        guard !requests.isEmpty else { return }
        await withCheckedContinuation { continuation in
            // This may come in a later call than what stands above: the last request may have ended meanwhile.
            guard !requests.isEmpty else { return continuation.resume() }
            whenEmpty.append(continuation)
            // The end of the loop lets go of it.
            executor.engineLoop.set(EngineTimer(self), at: executor.engineLoop.now.advanced(by: grace))
        }
    }

    private func cancelAll() {
        for request in Array(requests.values) {
            request.onEngine { $0.cancel(TrellisError(.cancelled(.sessionShutDown))) }
        }
    }
}

/// The time that was given for draining is over.
extension SessionActor: EngineTimerTarget {
    nonisolated func timerIsDue() { onEngine { $0.cancelAll() } }
}

/// The requests' calls come on the engine thread, where the session lives too.
extension SessionActor: Admission {
    nonisolated func enter(_ request: RequestActor) { onEngine { $0.admit(request) } }
    nonisolated func leave(_ request: RequestActor) { onEngine { $0.leaveQueue(request) } }
    nonisolated func release(_ request: RequestActor) { onEngine { $0.releaseSlot(request) } }
    nonisolated func didEnd(_ request: RequestActor) { onEngine { $0.forget(request) } }
    nonisolated func reasonForWaiting(_ request: RequestActor) -> String { onEngine { $0.waitingReason(request) } }
}

extension RequestActor {
    /// Over HTTP/2 and HTTP/3 requests share a connection, where libcurl does that well.
    fileprivate var isMultiplexed: Bool {
        guard let version = head?.version, LibcurlFeatures.current.canMultiplex else { return false }
        return version == .http2 || version == .http3
    }

    fileprivate nonisolated func refuseAfterShutDown() {
        executor.submit { self.onEngine { $0.cancel(TrellisError(.cancelled(.sessionShutDown))) } }
    }
}
