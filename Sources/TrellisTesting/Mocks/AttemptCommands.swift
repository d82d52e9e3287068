import CurlEngine
import FoundationEssentials
import HTTPTypes
@_spi(Transport) import TrellisCore

/// The commands of a session to an attempt that runs in its own task, and the waits of that task for them.
final class AttemptCommands: Sendable {
    struct State: Sendable {
        /// The chunks of the request's body that the attempt has not taken.
        var chunks: [Data] = []
        /// The fields after the body of the request; `nil` if there are none.
        var trailers: HTTPFields?
        var isBodyComplete: Bool
        /// Whether the session sends no more of the body, which is not complete.
        var isBodyDropped = false
        var isPaused = false
        var isSuspended = false
        var isCancelled = false
        /// Whether the transport has ended the attempt.
        var isStopped = false
        /// The fields after the body of the response, which its writer has set; `nil` if it has not.
        var responseTrailers: HTTPFields?
    }

    private let state: LoopbackServer.Waiters<State>
    private let task = Locked<Task<Void, Never>?>(nil)

    init(_ request: TransportRequest) { state = .init(State(isBodyComplete: !request.hasStreamedBody)) }

    /// The commands so far.
    var value: State { state.value }

    /// Records a command, or takes a part of the body.
    @discardableResult
    func update<Result: Sendable>(_ change: (inout State) -> Result) -> Result { state.update(change) }

    /// Sets the task of the attempt, which is cancelled with it.
    func run(in task: Task<Void, Never>) {
        self.task.withLock { $0 = task }
        if value.isStopped { task.cancel() }
    }

    func cancel() {
        state.update { $0.isCancelled = true }
        task.withLock { $0 }?.cancel()
    }

    /// Cancels the task of the attempt, whose end the session still awaits.
    func stop() {
        state.update { $0.isStopped = true }
        task.withLock { $0 }?.cancel()
    }

    /// Waits until the state meets a condition; throws `CancellationError` when the attempt is cancelled.
    func wait(until isOpen: @escaping @Sendable (State) -> Bool) async throws {
        try await state.wait { $0.isCancelled || isOpen($0) }
        if state.value.isCancelled { throw CancellationError() }
    }

    /// Waits until the attempt is not suspended.
    func waitUntilResumed() async throws { try await wait { !$0.isSuspended } }

    /// Waits until the reader takes more of the response.
    func waitUntilRead() async throws { try await wait { !$0.isPaused && !$0.isSuspended } }
}

/// An attempt that runs in its own task.
protocol CommandedTask: TransportTask {
    /// The commands of the session.
    var commands: AttemptCommands { get }
}

extension CommandedTask {
    func cancel() { commands.cancel() }

    func pauseReceiving(_ isPaused: Bool) { commands.update { $0.isPaused = isPaused } }

    func suspend(_ isSuspended: Bool) { commands.update { $0.isSuspended = isSuspended } }

    func finishSending() { commands.update { $0.isBodyComplete = true } }

    func finishSending(trailers: HTTPFields) {
        commands.update { ($0.trailers, $0.isBodyComplete) = (trailers, true) }
    }

    func stopSending() { commands.update { $0.isBodyDropped = true } }
}
