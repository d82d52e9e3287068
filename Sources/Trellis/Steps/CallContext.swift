import CurlEngine

/// What a step knows about the call it is part of.
public struct CallContext: Sendable {
    /// Tells the calls of a process apart; higher is later.
    public var id: UInt64 { call.id }
    /// Which attempt this is, from 1 on. Redirects belong to the attempt that met them.
    public internal(set) var attempt: Int {
        get { storage.parts.attempt }
        set { change { $0.attempt = newValue } }
    }
    /// The redirects that led to the request of this attempt. A retry goes on behind those that were followed before it.
    public internal(set) var redirects: [Redirect] {
        get { storage.parts.redirects }
        set { change { $0.redirects = newValue } }
    }
    /// What is left of ``Timeouts/total``; `nil` where there is no such limit. A step that takes longer is cancelled.
    public var remainingTime: Duration? { call.deadline.remaining }
    /// What has passed since the call was made, on the clock of its session.
    public var elapsedTime: Duration { call.deadline.elapsed }

    /// One of the redirects has led to another origin.
    var hasLeftOrigin: Bool { storage.parts.hasLeftOrigin }
    /// The request that the last redirect led to; `nil` before any.
    var hop: RedirectedHop? { storage.parts.hop }
    /// The attempts that were begun beside others.
    var hedges: Int {
        get { storage.parts.hedges }
        set { change { $0.hedges = newValue } }
    }
    var call: Call { storage.parts.call }

    /// One reference: a context is handed on often, and whoever waits keeps a copy of it.
    private var storage: Storage

    init(_ call: Call) { storage = Storage(Parts(call: call)) }

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

    mutating func follow(_ redirect: Redirect, to hop: RedirectedHop? = nil) {
        change {
            $0.hop = hop
            $0.redirects.append(redirect)
            $0.hasLeftOrigin = $0.hasLeftOrigin || redirect.changesOrigin
        }
    }
}

extension CallContext {
    /// What there is to know.
    private struct Parts: Sendable {
        var attempt = 1
        var redirects: [Redirect] = []
        var hasLeftOrigin = false
        var hedges = 0
        var hop: RedirectedHop?
        let call: Call
    }

    private final class Storage: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    private mutating func change(_ body: (inout Parts) -> Void) {
        var parts = storage.parts
        body(&parts)
        storage = Storage(parts)
    }
}

/// The request that a redirect led to, in both its forms.
final class RedirectedHop: Sendable {
    /// Without what adapters made of it: they run again when this hop is retried.
    let asked: Request
    /// As it is sent.
    let adapted: Request

    init(asked: Request, adapted: Request) {
        self.asked = asked
        self.adapted = adapted
    }
}

/// How an attempt ended, and where.
struct AttemptEnd: Sendable {
    let result: Result<StepResponse, any Error>
    /// The context of the hop that ended it.
    let context: CallContext
    /// That hop was answered with a redirect which could not be followed: sending it again would repeat what was answered.
    var isAnswered = false
}

extension CallContext {
    /// The present instant on the session's clock.
    var now: EngineInstant { call.clock.now() }
}
