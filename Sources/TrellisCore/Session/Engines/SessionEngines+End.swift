import CurlEngine

/// The end of the engines' requests: the drain of a session, and the cancellation of everything.
extension SessionEngines {
    /// Refuses new requests, lets requests in flight continue for `grace`, ends them after that, and waits until all have ended.
    func drain(for grace: Duration, _ life: SessionLife) async {
        close()
        let engines = started
        for engine in engines { engine.actor.submit { $0.close() } }
        if grace > .zero { life.announceDrain() }
        // The grace begins now, on every engine, because one that is stuck, or becomes so, cannot end it.
        let timer = DrainTimer(self, life)
        for engine in engines { engine.actor.submit { $0.setTimer(of: timer, after: grace) } }
        // A request that was made before the shutdown may still wait to begin on its engine.
        for engine in engines { await engine.settle() }
        life.beginDrain()
        if await !isQuiet(life) {
            // Without these, no engine may have had a thread that could set the timer.
            for engine in inUse where !engines.contains(where: { $0 === engine }) {
                engine.actor.submit { $0.setTimer(of: timer, after: grace) }
            }
            repeat {
                for engine in inUse { await engine.actor.waitUntilEmpty() }
            } while await !isQuiet(life)
        }
        life.endDrain()
    }

    /// Ends all requests, calls and operations with an error. Every engine begins before the first one has finished. The session does not
    /// wait for an engine that is stuck, whose requests end when it runs again.
    func cancelAll(_ error: TrellisError) async {
        let ends = cancel(error)
        for (engine, end) in ends { await end.wait(for: engine.executor) }
        // A slot may be on its way from one of these requests to one of another engine, which has ended as well and passes it on.
        for _ in 0..<2 {
            for (engine, _) in ends { await engine.settle() }
        }
    }

    /// Ends all requests, calls and operations with an error, and waits for none of them. Returns the engines that have requests, each with
    /// the wait for its end.
    @discardableResult
    fileprivate func cancel(_ error: TrellisError) -> [(SessionEngine, EngineWait)] {
        // First of all: a call that has not reached its engine finds its error there.
        first.actor.calls.cancelCallsWithoutActor(error)
        // Before the first slot is free: a request that is to end must not get it.
        for engine in all {
            for call in engine.actor.calls.all { call.call.record.withLock { $0.cancellation = error } }
            engine.site.list.keepFromStarting()
        }
        let engines = all.filter { $0.executor.hasStarted || !$0.site.list.all.isEmpty }
        return engines.map { engine in
            let end = EngineWait()
            engine.actor.submit { $0.cancelAll(error) { end.end() } }
            // The engine may be stuck.
            engine.actor.calls.cancelOperations(error)
            return (engine, end)
        }
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
        // Only the first timer to fire ends the drain, unless no request was left before that.
        guard !life.hasDrained else { return }
        life.endDrain()
        engines.cancel(TrellisError(.cancelled(.sessionShutDown)))
    }
}

extension SessionEngine {
    /// Returns when the engine has run everything that was submitted earlier, or is found to be stuck.
    func settle() async {
        let wait = EngineWait()
        executor.submit { wait.end() }
        await wait.wait(for: executor)
    }
}

/// The wait of one task for an engine.
private final class EngineWait: Sendable {
    /// The time between two looks at the engine, after which it counts as stuck.
    static let interval = Duration.milliseconds(100)

    private struct State {
        var continuation: CheckedContinuation<Void, Never>?
        var hasEnded = false
    }

    private let state = Locked(State())

    /// Returns when ``end()`` was called, or the engine is found to be stuck.
    func wait(for executor: EngineExecutor) async {
        let look = Task.detached(executorPreference: globalConcurrentExecutor) {
            while !executor.isStuck {
                do { try await Task.sleep(for: Self.interval) } catch { return }
            }
            self.end()
        }
        await withContinuation { begin($0) }
        look.cancel()
    }

    private func begin(_ continuation: CheckedContinuation<Void, Never>) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.continuation = continuation }
            return state.hasEnded
        }
        if hasEnded { continuation.resume() }
    }

    func end() {
        let continuation = state.withLock { state in
            state.hasEnded = true
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }
}
