import CurlEngine
import Synchronization

/// The life of a session, which all of its engines share.
final class SessionLife: Sendable {
    private let shutDown = Atomic(false)
    private let drained = Atomic(false)

    /// Indicates whether the session accepts no new requests.
    var isShutDown: Bool { shutDown.load(ordering: .acquiring) }

    /// Indicates whether the drain is over, so that requests of calls that were in flight are refused too.
    var hasDrained: Bool { drained.load(ordering: .acquiring) }

    /// Refuses new requests from now on.
    func beginDrain() { shutDown.store(true, ordering: .releasing) }

    /// Refuses all further requests from now on.
    func endDrain() { drained.store(true, ordering: .releasing) }
}

extension SessionEngines {
    /// Refuses new requests, lets requests in flight continue for `grace`, ends them after that, and waits until all have ended.
    func drain(for grace: Duration, _ life: SessionLife) async {
        close()
        // A request that was made before the shutdown may still wait to begin on its engine.
        let engines = started
        for engine in engines { engine.actor.submit { $0.close() } }
        for engine in engines where !engine.executor.meter.isStuck { await engine.actor.settle() }
        life.beginDrain()
        if await !isQuiet() {
            let timer = DrainTimer(self, life)
            let keeper = engines.first { !$0.executor.meter.isStuck } ?? first
            await keeper.actor.set(EngineTimer(timer), after: grace)
            repeat {
                for engine in started { await engine.actor.waitUntilEmpty() }
            } while await !isQuiet()
        }
        life.endDrain()
    }

    /// Ends all requests, calls and operations with an error. Every engine begins before the first one has finished.
    func cancelAll(_ error: TrellisError) async {
        let engines = started
        for engine in engines { engine.actor.submit { $0.cancelAll(error) } }
        for engine in engines { await engine.actor.settle() }
    }

    /// The engines whose threads have started. Only these have requests.
    var started: [SessionEngine] { all.filter(\.executor.hasStarted) }

    /// Returns whether no engine has a request, and none has begun one since the first engine was asked.
    private func isQuiet() async -> Bool {
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
        life.endDrain()
        for engine in engines.started {
            engine.actor.submit { $0.cancelAll(TrellisError(.cancelled(.sessionShutDown))) }
        }
    }
}
