/// The state of a request, and the state machine of the `RequestActor` that runs it.
///
/// | state | can become |
/// |---|---|
/// | `initialized` | any other |
/// | `resumed` | `suspended`, `cancelled`, `finished` |
/// | `suspended` | `resumed`, `cancelled`, `finished` |
/// | `cancelled`, `finished` | nothing: they are final |
///
/// `ExchangeState` has the states of a single hop, from the queue for a connection to the last byte.
public enum RequestState: String, Sendable, Hashable, CaseIterable {
    /// The request was created and has not started.
    case initialized
    /// The request has started.
    case resumed
    /// The request was suspended by `suspend()`.
    case suspended
    /// The request was ended by `cancel()`, by the cancellation of its last reader's task, or with its session.
    case cancelled
    /// The request ended with a response or an error.
    case finished

    /// Whether the request has not started, or is suspended.
    public var isWaiting: Bool { self == .initialized || self == .suspended }

    /// Whether the request is in progress.
    public var isRunning: Bool { self == .resumed }

    /// Whether the request has ended: ``cancelled`` or ``finished``.
    public var isFinished: Bool { self == .cancelled || self == .finished }
}

extension RequestState {
    /// An event that may change the state.
    package enum Event: Hashable, Sendable, CaseIterable {
        /// A reader asks for the response: the request starts, unless it is suspended.
        case begin
        /// The user resumes the request.
        case resume
        /// The user suspends the request.
        case suspend
        /// The user, the readers' tasks or the session ends the request.
        case cancel
        /// A response or an error was received.
        case finish
    }

    /// The consequence of an event, for the `RequestActor` to perform.
    package enum Effect: Hashable, Sendable {
        /// The effects, in the order in which they are declared: none; pauses or resumes the exchanges; ends the request.
        case nothing, pauseExchanges, resumeExchanges, end
    }

    /// Handles an event, and returns its effect. An event that is not legal in the present state changes nothing.
    package mutating func handle(_ event: Event) -> Effect {
        switch (self, event) {
        case (.cancelled, _), (.finished, _): return .nothing
        case (_, .cancel):
            self = .cancelled
            return .end
        case (_, .finish):
            self = .finished
            return .end
        case (.initialized, .begin), (.initialized, .resume), (.suspended, .resume):
            self = .resumed
            return .resumeExchanges
        case (.initialized, .suspend), (.resumed, .suspend):
            self = .suspended
            return .pauseExchanges
        case (_, .begin), (.resumed, .resume), (.suspended, .suspend): return .nothing
        }
    }
}
