import CurlEngine
import Synchronization

/// The calls and operations of one engine that have begun and have not ended. Any thread may use the list.
final class CallList: Sendable {
    private struct State {
        /// The calls with steps, including calls whose step is running while no exchange is in progress.
        var calls: [ObjectIdentifier: RequestActor] = [:]
        /// The operations made of several calls, even if none of their requests is in progress.
        var operations: [ObjectIdentifier: any SessionOperation] = [:]

        var isEmpty: Bool { calls.isEmpty && operations.isEmpty }
    }

    private let state = Locked(State())

    /// Whether there are neither calls nor operations. Calls without an actor do not count: see ``hasCallsWithoutActor``.
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

    /// The calls without an actor, in several lists: each call of a verb enters one, on any thread.
    private let lists = (0..<CallList.listCount).map { _ in Locked([Call]()) }
    private static let listCount = 8

    private func list(of call: Call) -> Locked<[Call]> {
        lists[Int(truncatingIfNeeded: call.id) & (Self.listCount - 1)]
    }

    /// The calls without an actor that have not ended.
    private var withoutActor: [Call] { lists.flatMap { $0.withLock { $0 } } }

    /// The calls without an actor that have not been cancelled.
    var live: [Call] { withoutActor.filter { $0.cancellation == nil } }

    /// Whether there are calls without an actor.
    var hasCallsWithoutActor: Bool { lists.contains { $0.withLock { !$0.isEmpty } } }

    /// Cancels the calls without an actor. Such a call finds its error before its next exchange.
    func cancelCallsWithoutActor(_ error: TrellisError) {
        for call in withoutActor { call.record.withLock { $0.cancellation = error } }
    }

    func add(_ call: Call) {
        list(of: call).withLock { calls in
            call.listPosition.store(calls.count, ordering: .relaxed)
            calls.append(call)
        }
    }

    func remove(_ call: Call) {
        list(of: call).withLock { calls in
            let position = call.listPosition.exchange(-1, ordering: .relaxed)
            let last = calls.removeLast()
            guard position < calls.count else { return }
            last.listPosition.store(position, ordering: .relaxed)
            calls[position] = last
        }
    }
}

/// An operation made of several calls, such as a download. A session that shuts down waits for its end.
package protocol SessionOperation: AnyObject, Sendable {
    /// Ends the operation with an error.
    func cancel(_ error: any Error)
}
