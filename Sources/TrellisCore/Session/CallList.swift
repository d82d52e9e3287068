import CurlEngine
import Synchronization

/// The calls and operations of one engine that have begun and have not ended. Any thread may use the list.
final class CallList: Sendable {
    private struct State {
        /// The calls with steps, including calls whose step is running while no exchange is in progress.
        var calls: [ObjectIdentifier: RequestActor] = [:]
        /// The operations made of several calls, even if none of their requests is in progress.
        var operations: [ObjectIdentifier: any SessionOperation] = [:]
        /// The calls without an actor that have adapters, until they end.
        var direct: [DirectCall] = []

        var isEmpty: Bool { calls.isEmpty && operations.isEmpty }
    }

    private let state = Locked(State())

    /// Whether there are neither calls nor operations. Calls without an actor do not count: see ``hasDirect``.
    var isEmpty: Bool { state.withLock { $0.isEmpty } }

    /// The calls with an actor.
    var all: [RequestActor] { state.withLock { Array($0.calls.values) } }

    func add(_ call: RequestActor) { state.withLock { $0.calls[ObjectIdentifier(call)] = call } }

    func remove(_ call: RequestActor) { state.withLock { $0.calls[ObjectIdentifier(call)] = nil } }

    func add(_ operation: any SessionOperation) {
        state.withLock { $0.operations[ObjectIdentifier(operation)] = operation }
    }

    func remove(_ operation: any SessionOperation) {
        state.withLock { $0.operations[ObjectIdentifier(operation)] = nil }
    }

    /// Ends all operations, and removes them.
    func cancelOperations(_ error: TrellisError) {
        let operations = state.withLock { state in
            defer { state.operations = [:] }
            return state.operations.values.map { $0 }
        }
        for operation in operations { operation.cancel(error) }
    }

    // MARK: Calls without an actor

    /// The calls without an actor that have adapters. Until its first adapters have returned, such a call has no exchange.
    var direct: [DirectCall] { state.withLock { $0.direct } }

    /// Whether there are calls without an actor that have adapters.
    var hasDirect: Bool { state.withLock { !$0.direct.isEmpty } }

    func add(_ call: DirectCall) {
        state.withLock { state in
            call.listPosition.store(state.direct.count, ordering: .relaxed)
            state.direct.append(call)
        }
    }

    func remove(_ call: DirectCall) {
        state.withLock { state in
            let position = call.listPosition.load(ordering: .relaxed)
            let last = state.direct.removeLast()
            guard position < state.direct.count else { return }
            last.listPosition.store(position, ordering: .relaxed)
            state.direct[position] = last
        }
    }
}

/// An operation made of several calls, such as a download. A session that shuts down waits for its end.
package protocol SessionOperation: AnyObject, Sendable {
    /// Ends the operation with an error.
    func cancel(_ error: any Error)
}
