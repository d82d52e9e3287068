import CurlEngine

/// The subscription of a reader to the events of a session. The reader leaves when the subscription is released, or when a task that waits
/// for an event is cancelled.
final class EventSubscription: Sendable {
    private let queue: EventQueue
    private let leave: @Sendable () -> Void

    /// - Parameter leave: Removes the queue from those that get events. May be called several times.
    init(_ queue: EventQueue, leave: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.leave = leave
    }

    deinit {
        leave()
        queue.discard()
    }

    /// The number of events that were dropped because the reader was too slow.
    var droppedCount: Int { queue.droppedCount }

    /// Returns the next event; `nil` if the session has ended or the task was cancelled.
    func next() async -> RequestEvent? {
        await withTaskCancellationHandler {
            repeat {
                if let event = queue.next() { return event }
            } while await queue.wait()
            return nil
        } onCancel: {
            end()
        }
    }

    /// Ends the subscription. The events that it has are still read.
    func end() {
        leave()
        queue.finish()
    }
}
