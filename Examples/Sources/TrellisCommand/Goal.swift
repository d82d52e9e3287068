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
    ///   - inputHasEnded: Indicates whether there is no input, so that only the number of messages counts.
    init(_ limit: Int?, inputHasEnded: Bool) {
        state = Mutex(State(remaining: limit, inputHasEnded: inputHasEnded))
    }

    /// Counts a message. Returns whether the goal is reached with this message.
    func messageDidArrive() -> Bool {
        state.withLock { state in
            guard let remaining = state.remaining, remaining > 0 else { return false }
            state.remaining = remaining - 1
            return remaining == 1 && state.inputHasEnded
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
