import CurlEngine

extension LoopbackServer {
    /// A one-way switch between a test and a server's script: shut at first, opened once, open forever.
    ///
    /// The script blocks on a gate with ``Connection/wait(for:)``; the test waits for a gate with ``opened()``:
    ///
    /// ```swift
    /// let response = LoopbackServer.Gate(), asked = LoopbackServer.Gate()
    /// let server = try LoopbackServer { connection in
    ///     try connection.readRequest()
    ///     asked.open()
    ///     try connection.wait(for: response)
    ///     try connection.write("HTTP/1.1 204 No Content\r\n\r\n")
    /// }
    /// ```
    public final class Gate: Sendable {
        /// The flag that scripts poll for.
        let event = LoopbackEvent()
        private let waiters = Waiters<Bool>(false)

        /// Creates a gate that is shut.
        public init() {}

        /// Opens the gate for all present and future waiters. Opening twice is opening once.
        public func open() {
            event.raise()
            waiters.update { $0 = true }
        }

        /// Whether the gate was opened.
        public var isOpen: Bool { waiters.value }

        /// Waits until the gate is open.
        ///
        /// - Throws: `CancellationError` if the task is cancelled first.
        public func opened() async throws { try await waiters.wait { $0 } }
    }

    /// A value that tasks can wait on: each waiter resumes when the value first satisfies its condition.
    final class Waiters<Value: Sendable>: Sendable {
        private struct Waiter: Sendable {
            let condition: @Sendable (Value) -> Bool
            let continuation: CheckedContinuation<Void, any Error>
            /// The peer that waits; `nil` if another task does.
            let peer: ClockWork?

            func resume(with result: Result<Void, any Error> = .success(())) {
                peer?.resume()
                continuation.resume(with: result)
            }
        }

        private struct State: Sendable {
            var value: Value
            var waiters: [Int: Waiter] = [:]
            /// The waiters whose task was cancelled before they began to wait.
            var cancelled: Set<Int> = []
            var nextID = 0
        }

        private let state: Locked<State>

        init(_ value: Value) { state = Locked(State(value: value)) }

        var value: Value { state.withLock { $0.value } }

        /// Changes the value and resumes the waiters whose condition now holds.
        @discardableResult
        func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
            let (result, ready) = state.withLock { state -> (Result, [Waiter]) in
                let result = change(&state.value)
                if state.waiters.isEmpty { return (result, []) }
                let ready = state.waiters.filter { $0.value.condition(state.value) }
                for id in ready.keys { state.waiters[id] = nil }
                return (result, Array(ready.values))
            }
            for waiter in ready { waiter.resume() }
            return result
        }

        /// Waits until the value satisfies the condition; throws `CancellationError` if the task is cancelled first.
        func wait(until condition: @escaping @Sendable (Value) -> Bool) async throws {
            let id = state.withLock { state in
                state.nextID += 1
                return state.nextID
            }
            // Removes the mark that a cancellation leaves if it occurs just after the condition held.
            defer { state.withLock { _ = $0.cancelled.remove(id) } }
            try await withTaskCancellationHandler {
                try await withThrowingContinuation { continuation in
                    enter(id, Waiter(condition: condition, continuation: continuation, peer: ClockWork.current))
                }
            } onCancel: {
                leave(id)
            }
        }

        private func enter(_ id: Int, _ waiter: Waiter) {
            let outcome: Result<Void, any Error>? = state.withLock { state in
                if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                if waiter.condition(state.value) { return .success(()) }
                // A peer that finds its condition met works on without a rest.
                waiter.peer?.pause()
                state.waiters[id] = waiter
                return nil
            }
            if let outcome { waiter.continuation.resume(with: outcome) }
        }

        private func leave(_ id: Int) {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil { state.cancelled.insert(id) }
                return waiter
            }
            waiter?.resume(with: .failure(CancellationError()))
        }
    }
}
