import CurlEngine

/// The end of the engines' requests: the drain of a session, and the cancellation of everything.
extension SessionEngines {
    /// Refuses new requests, lets requests in flight continue for `grace`, ends them after that, and waits until all have ended.
    func drain(for grace: Duration, _ life: SessionLife) async {
        close()
        let engines = started
        for engine in engines { engine.actor.submit { $0.close() } }
        if grace > .zero { life.announceDrain() }
        // The grace begins now.
        let (timer, keeper) = (DrainTimer(self, life), engines.first { !$0.executor.isRefused })
        keeper?.actor.submit { $0.setTimer(of: timer, after: grace) }
        // A request that was made before the shutdown may still wait to begin on its engine.
        for engine in engines { await engine.settle() }
        life.beginDrain()
        if await !isQuiet(life) {
            // No engine had a thread that could set the timer.
            if keeper == nil { inUse.first?.actor.submit { $0.setTimer(of: timer, after: grace) } }
            repeat {
                for engine in inUse { await engine.actor.waitUntilEmpty() }
            } while await !isQuiet(life)
        }
        life.endDrain()
    }

    /// Ends all requests, calls and operations with an error. Every engine begins before the first one has finished.
    func cancelAll(_ error: TrellisError) async {
        let engines = willCancel(with: error)
        await withTaskGroup { group in
            for engine in engines { group.addTask { await engine.cancelAll(error) } }
        }
        // A slot may be on its way from one of these requests to one of another engine, which has ended as well and passes it on.
        for _ in 0..<2 {
            for engine in engines { await engine.settle() }
        }
    }

    /// Notes the error with which all requests, calls and operations are about to end. Returns the engines that have requests.
    fileprivate func willCancel(with error: TrellisError) -> [SessionEngine] {
        // First of all: a call that has not reached its engine finds its error there.
        first.actor.calls.cancelCallsWithoutActor(error)
        // Before the first slot is free: a request that is to end must not get it.
        for engine in all {
            for call in engine.actor.calls.all { call.call.record.withLock { $0.cancellation = error } }
            engine.site.list.keepFromStarting()
        }
        return all.filter { $0.executor.hasStarted || !$0.site.list.all.isEmpty }
    }

    /// The engines whose threads have started. Only these have requests, apart from those that are about to begin.
    var started: [SessionEngine] { all.filter(\.executor.hasStarted) }

    /// The engines that have requests, or will have the requests of calls that have not reached an engine.
    private var inUse: [SessionEngine] {
        let started = started
        return started.isEmpty ? [first] : started
    }

    /// Returns whether no engine has a request, and none has begun one since the first engine was asked.
    private func isQuiet(_ life: SessionLife) async -> Bool {
        // Before the engines: such a call leaves the list after its exchange has begun on one of them.
        if first.actor.calls.hasCallsWithoutActor, !life.hasDrained { return false }
        var counts: [Int?] = []
        for engine in started { counts.append(await engine.actor.entryCountIfEmpty) }
        for (index, engine) in started.enumerated() {
            guard index < counts.count, let count = counts[index], await engine.actor.entryCountIfEmpty == count
            else { return false }
        }
        return true
    }
}

/// The end of the drain when its time is over.
private final class DrainTimer: EngineTimerTarget, Sendable {
    private let engines: SessionEngines
    private let life: SessionLife

    init(_ engines: SessionEngines, _ life: SessionLife) { (self.engines, self.life) = (engines, life) }

    func timerIsDue() {
        // No request may have been left before.
        guard !life.hasDrained else { return }
        life.endDrain()
        let error = TrellisError(.cancelled(.sessionShutDown))
        for engine in engines.willCancel(with: error) { engine.actor.submit { $0.cancelAll(error) } }
    }
}

extension SessionEngine {
    /// Ends all requests, calls and operations with an error, and returns when they have ended. An engine without a thread, which the
    /// system refuses, is not waited for.
    fileprivate func cancelAll(_ error: TrellisError) async {
        guard !executor.isRefused else { return actor.submit { $0.cancelAll(error) } }
        await withContinuation { continuation in
            actor.submit { $0.cancelAll(error) { continuation.resume() } }
        }
    }

    /// Returns when the engine has run everything that was submitted earlier, or at once if the system refuses its thread.
    func settle() async {
        guard !executor.isRefused else { return }
        await withContinuation { continuation in executor.submit { continuation.resume() } }
    }
}
