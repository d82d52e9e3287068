/// An actor that runs on an engine thread.
package protocol EngineActor: Actor {
    /// The executor on whose thread the actor runs.
    nonisolated var executor: EngineExecutor { get }
    /// The ``EngineExecutor/residence`` of the executor, stored because the runtime asks for it at every entry.
    nonisolated var residence: EngineResidence { get }
}

/// An executor in the form that the runtime asks for. The actor that stores this value keeps the executor too.
@safe
package struct EngineResidence: Sendable {
    fileprivate let executor: UnownedSerialExecutor
}

extension EngineExecutor {
    /// The value that an actor on this executor stores.
    package var residence: EngineResidence { unsafe EngineResidence(executor: asUnownedSerialExecutor()) }
}

extension EngineActor {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe residence.executor }

    /// Enters the actor from code that runs on its engine thread anyway: a callback of libcurl, a timer, another actor there.
    /// Traps on any other thread.
    ///
    /// The method is `assumeIsolated` with a shorter check: it asks the thread, not the runtime.
    @inline(__always)
    package nonisolated func onEngine<Result: Sendable>(_ body: (isolated Self) -> Result) -> Result {
        typealias Free = (Self) -> Result
        executor.checkIsolated()
        return withoutActuallyEscaping(body) { body in
            // The standard library does the same: isolation has been checked, and is part of the type alone.
            unsafe unsafeBitCast(body, to: Free.self)(self)
        }
    }

    /// Enters the actor: at once on its engine thread, and as soon as that thread is free from any other.
    package nonisolated func enter(_ body: @escaping @Sendable (isolated Self) -> Void) {
        if executor.isCurrent {
            onEngine(body)
        } else {
            executor.submit { self.onEngine(body) }
        }
    }
}
