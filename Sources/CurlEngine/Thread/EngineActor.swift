/// An actor that lives on an engine thread.
package protocol EngineActor: Actor {
    /// The engine whose thread it lives on.
    nonisolated var executor: EngineExecutor { get }
    /// Its ``EngineExecutor/residence``, stored: the runtime asks at every entry.
    nonisolated var residence: EngineResidence { get }
}

/// An executor as the runtime wants to have it. The actor that stores it keeps the executor too.
@safe
package struct EngineResidence: Sendable {
    fileprivate let executor: UnownedSerialExecutor
}

extension EngineExecutor {
    /// What an actor that lives here stores.
    package var residence: EngineResidence { unsafe EngineResidence(executor: asUnownedSerialExecutor()) }
}

extension EngineActor {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe residence.executor }

    /// Enters the actor from code that runs on its engine thread anyway: a callback of libcurl, a timer, a neighbour.
    /// Traps on any other thread.
    ///
    /// `assumeIsolated` with a shorter check: it asks the thread, not the runtime.
    @inline(__always)
    package nonisolated func onEngine<Result: Sendable>(_ body: (isolated Self) -> Result) -> Result {
        typealias Free = (Self) -> Result
        executor.checkIsolated()
        return withoutActuallyEscaping(body) { body in
            // The standard library does the same: isolation has been checked, and is part of the type alone.
            unsafe unsafeBitCast(body, to: Free.self)(self)
        }
    }

    /// Enters the actor at once on its engine thread, and as soon as that comes round from any other.
    package nonisolated func enter(_ body: @escaping @Sendable (isolated Self) -> Void) {
        if executor.isCurrent {
            onEngine(body)
        } else {
            executor.submit { self.onEngine(body) }
        }
    }
}
