extension EngineActor {
    /// Runs `body` in the actor as ``submit(_:)`` does, with the reply to a task. A closure that captures nothing needs no allocation.
    @inlinable @inline(__always)
    package nonisolated func submit<Value>(
        _ reply: Reply<Value>, _ body: @escaping @Sendable (isolated Self, Reply<Value>) -> Void
    ) {
        executor.submit(EngineReplyEntry(of: self, reply, body))
    }
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
