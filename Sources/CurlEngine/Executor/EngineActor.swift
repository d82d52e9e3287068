/// An actor that runs on an engine thread.
@usableFromInline package protocol EngineActor: Actor {
    /// The executor on whose thread the actor runs.
    nonisolated var executor: EngineExecutor { get }
    /// The ``EngineExecutor/executorReference`` of the executor, stored because the runtime asks for it at every entry.
    nonisolated var executorReference: ExecutorReference { get }
}

/// An executor in the form that the runtime requires. The actor that stores this value also keeps the executor alive.
@safe
@usableFromInline package struct ExecutorReference: Sendable {
    fileprivate let executor: UnownedSerialExecutor
}

extension EngineExecutor {
    /// The value that an actor on this executor stores.
    package var executorReference: ExecutorReference { unsafe ExecutorReference(executor: asUnownedSerialExecutor()) }
}

extension EngineActor {
    /// The executor of the actor, as the runtime reads it.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executorReference.executor }

    /// Runs `body` in the actor as soon as the engine thread is free, after everything that was submitted earlier. May be called on any
    /// thread.
    ///
    /// Code that already runs on the engine thread calls the actor's methods through a protocol to which the actor conforms with
    /// `@preconcurrency`: such a call traps on any other thread. A method with a closure, such as `assumeIsolated`, would cost an
    /// allocation for every call.
    @inlinable @inline(__always)
    package nonisolated func submit(_ body: @escaping @Sendable (isolated Self) -> Void) {
        executor.submit(EngineEntry(self, body))
    }

    /// Runs `body` in the actor as ``submit(_:)`` does, with the reply to a task. A closure that captures nothing needs no allocation.
    @inlinable @inline(__always)
    package nonisolated func submit<Value>(
        _ reply: Reply<Value>, _ body: @escaping @Sendable (isolated Self, Reply<Value>) -> Void
    ) {
        executor.submit(EngineReplyEntry(of: self, reply, body))
    }

    /// Runs `body` in the actor at once if the calling thread is the actor's engine thread, and otherwise as soon as that is free.
    package nonisolated func perform(_ body: @escaping @Sendable (isolated Self) -> Void) {
        let entry = EngineEntry(self, body)
        if executor.isCurrent { entry.run() } else { executor.submit(entry) }
    }
}

/// A call of an actor that waits to run on the actor's engine thread.
@safe
@usableFromInline package struct EngineEntry: Sendable {
    private let actor: any EngineActor
    private let body: @Sendable (AnyObject) -> Void

    /// A closure as a stored value, so that a cast changes only its type.
    private struct Isolated<Owner: EngineActor> { let body: @Sendable (isolated Owner) -> Void }
    private struct Erased { let body: @Sendable (AnyObject) -> Void }

    /// Creates a call of an actor.
    @usableFromInline
    package init<Owner: EngineActor>(_ actor: Owner, _ body: @escaping @Sendable (isolated Owner) -> Void) {
        self.actor = actor
        // Isolation is only part of the type, and every class instance is passed as one reference.
        self.body = unsafe unsafeBitCast(Isolated(body: body), to: Erased.self).body
    }

    /// Runs the call on the engine thread of the actor.
    func run() { body(actor) }
}

/// A call of an actor with the reply to a task, which waits to run on the actor's engine thread.
@safe
@usableFromInline package struct EngineReplyEntry: Sendable {
    private let actor: any EngineActor
    private let reply: Reply<Void>
    private let body: @Sendable (AnyObject, Reply<Void>) -> Void

    /// A closure as a stored value, so that a cast changes only its type.
    private struct Isolated<Owner: EngineActor, Value: Sendable> {
        let body: @Sendable (isolated Owner, Reply<Value>) -> Void
    }
    private struct Erased { let body: @Sendable (AnyObject, Reply<Void>) -> Void }

    /// Creates a call of an actor.
    @usableFromInline
    package init<Owner: EngineActor, Value: Sendable>(
        of actor: Owner, _ reply: Reply<Value>, _ body: @escaping @Sendable (isolated Owner, Reply<Value>) -> Void
    ) {
        self.actor = actor
        // Isolation is only part of the type, every class instance is passed as one reference, and every reply as one pointer.
        self.reply = unsafe unsafeBitCast(reply, to: Reply<Void>.self)
        self.body = unsafe unsafeBitCast(Isolated(body: body), to: Erased.self).body
    }

    /// Runs the call on the engine thread of the actor.
    func run() { body(actor, reply) }
}
