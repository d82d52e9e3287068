#if Redis
import CurlEngine
import FoundationEssentials

/// Commands that are sent together, and their replies.
final class RedisBatch: @unchecked Sendable {
    // Unchecked: every member that changes is only accessed on the thread of the connection.

    /// The progress of a batch.
    enum Progress {
        /// The commands were not sent.
        case waiting
        /// The commands were sent, and the replies up to now.
        case sent([RedisValue])
        case ended(Result<[RedisValue], RedisFailure>)
    }

    /// Returns the commands, whose keys may depend on the run of the server.
    let commands: @Sendable (_ run: String) -> [RedisCommand]
    /// The instant after which nobody waits for the replies.
    let deadline: EngineInstant
    /// The number of replies that have not come.
    var missing = 0
    /// The number of bytes that were sent.
    var size = 0
    var progress = Progress.waiting
    /// Whether the task that waits has been cancelled.
    var isCancelled = false
    /// Whether the replies are overdue.
    var isOverdue = false
    /// The task that waits, if any.
    var reply: Reply<[RedisValue]>?
    /// The timer of the deadline, while it is set.
    var timer: EngineTimer?
    /// Is called with the result, on the thread of the connection.
    private let onEnd: (@Sendable (Result<[RedisValue], RedisFailure>) -> Void)?

    init(
        deadline: EngineInstant, _ commands: @escaping @Sendable (_ run: String) -> [RedisCommand],
        onEnd: (@Sendable (Result<[RedisValue], RedisFailure>) -> Void)? = nil
    ) {
        (self.deadline, self.commands, self.onEnd) = (deadline, commands, onEnd)
    }

    /// The result; `nil` if the batch has not ended.
    var result: Result<[RedisValue], RedisFailure>? { if case .ended(let result) = progress { result } else { nil } }

    /// Ends the batch, unless it has ended.
    func end(_ result: Result<[RedisValue], RedisFailure>) {
        guard self.result == nil else { return }
        progress = .ended(result)
        onEnd?(result)
        let reply = reply.take()
        reply?.resume(with: result.mapError { $0 })
    }
}
#endif
