import Synchronization

/// The end that a conversation of `trellis ws` aims at: the end of the input, and a number of messages.
final class Goal: Sendable {
    private struct State {
        var remaining: Int?
        var inputHasEnded: Bool
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: The number of messages; `nil` if any number is enough.
    ///   - inputHasEnded: Whether there is no input, so that only the number of messages counts.
    init(_ limit: Int?, inputHasEnded: Bool) {
        state = Mutex(State(remaining: limit, inputHasEnded: inputHasEnded))
    }

    /// The place of a message before the goal.
    enum Step {
        /// The conversation goes on.
        case before
        /// The goal is reached with this message.
        case reached
        /// There have been as many messages before, and the input goes on: the message is of no interest.
        case beyond
    }

    /// Counts a message.
    func messageDidArrive() -> Step {
        state.withLock { state in
            guard let remaining = state.remaining else { return .before }
            guard remaining > 0 else { return .beyond }
            state.remaining = remaining - 1
            return remaining == 1 && state.inputHasEnded ? .reached : .before
        }
    }

    /// Marks the end of the input. Returns whether the goal is reached with it.
    func inputDidEnd() -> Bool {
        state.withLock { state in
            state.inputHasEnded = true
            return state.remaining ?? 0 == 0
        }
    }
}

/// A value that several tasks change.
final class Mutexed<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    func update(_ change: (inout Value) -> Void) { state.withLock { change(&$0) } }
}
