import CurlEngine

/// The place of one request among those in flight to an endpoint. It is left once: when the response is complete, or with the lease.
final class EndpointLease: Sendable {
    private struct State {
        var hasEnded = false
        var hasLeft = false
    }

    private let choice: EndpointBalance.Choice
    private let group: EndpointGroup
    private let clock: any EngineClock
    private let state = Locked(State())

    init(_ choice: EndpointBalance.Choice, of group: EndpointGroup, clock: any EngineClock) {
        self.choice = choice
        self.group = group
        self.clock = clock
    }

    deinit { leave() }

    /// The endpoint to which the request is sent.
    var endpoint: Endpoint { choice.endpoint }

    /// Learns the outcome of the request: its response's head, or its error. Returns the change of the endpoint, if there is one.
    func end(_ outcome: CircuitBreaker.Outcome) -> EndpointHealth.Change? {
        let hasEnded = state.withLock { state in
            defer { state.hasEnded = true }
            return state.hasEnded
        }
        guard !hasEnded else { return nil }
        let now = clock.now()
        return group.change { $0.end(choice, outcome, at: now) }
    }

    /// Gives the place back. The outcome of a request that has none says nothing.
    func leave() {
        _ = end(.neutral)
        let hasLeft = state.withLock { state in
            defer { state.hasLeft = true }
            return state.hasLeft
        }
        if !hasLeft { group.change { $0.leave(choice) } }
    }
}
