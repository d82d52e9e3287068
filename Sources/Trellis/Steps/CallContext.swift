import CurlEngine

/// What a step knows about the call it is part of.
public struct CallContext: Sendable {
    /// Tells the calls of a process apart; higher is later.
    public var id: UInt64 { call.id }
    /// Which attempt this is, from 1 on. Redirects belong to the attempt that met them.
    public internal(set) var attempt = 1
    /// The redirects that were followed in this attempt.
    public internal(set) var redirects: [Redirect] = []
    /// What is left of ``Timeouts/total``; `nil` where there is no such limit. A step that takes longer is cancelled.
    public var remainingTime: Duration? { call.deadline.remaining }
    /// What has passed since the call was made, on the clock of its session.
    public var elapsedTime: Duration { call.deadline.elapsed }

    /// One of the redirects has led to another origin.
    private(set) var hasLeftOrigin = false
    /// The attempts that were begun beside others.
    var hedges = 0
    let call: CallSituation

    init(_ call: CallSituation) { self.call = call }

    /// Waits on the clock of the session, which in tests is one that stands still until it is moved.
    ///
    /// The call's deadline ends it like everything else.
    ///
    /// - Throws: `CancellationError` when the call has ended; ``TrellisError`` of kind ``TrellisError/Kind/cancelled`` when the
    ///   session has been shut down.
    @inline(never)
    public func wait(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        guard try await call.engine.delay(for: duration) else { throw TrellisError(.cancelled(.sessionShutDown)) }
    }

    mutating func follow(_ redirect: Redirect) {
        redirects.append(redirect)
        hasLeftOrigin = hasLeftOrigin || redirect.changesOrigin
    }
}

extension CallContext {
    /// The present instant on the session's clock.
    var now: EngineInstant { call.deadline.clock.now() }
}
