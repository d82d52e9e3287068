/// What a step knows about the call it is part of.
public struct CallContext: Sendable {
    /// Tells the calls of a process apart; higher is later.
    public let id: UInt64
    /// Which attempt this is, from 1 on. Redirects belong to the attempt that met them.
    public internal(set) var attempt = 1
    /// The redirects that were followed in this attempt.
    public internal(set) var redirects: [Redirect] = []
    /// What is left of ``Timeouts/total``; `nil` where there is no such limit. A step that takes longer is cancelled.
    public var remainingTime: Duration? { deadline.remaining }

    let deadline: CallDeadline
    /// One of the redirects has led to another origin.
    private(set) var hasLeftOrigin = false

    init(id: UInt64, deadline: CallDeadline) {
        self.id = id
        self.deadline = deadline
    }

    mutating func follow(_ redirect: Redirect) {
        redirects.append(redirect)
        hasLeftOrigin = hasLeftOrigin || redirect.changesOrigin
    }
}
