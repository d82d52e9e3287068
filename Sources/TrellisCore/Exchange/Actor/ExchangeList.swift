import CurlEngine
import Synchronization

/// The exchanges that began on one engine and have not ended. Any thread may use the list, so that a request is listed and cancelled before
/// its engine has looked at it.
final class ExchangeList: Sendable {
    private let exchanges = Locked<[ExchangeActor]>([])

    /// The exchanges that have not ended, in no particular order.
    var all: [ExchangeActor] { exchanges.withLock { $0 }.filter { !$0.isEnded } }

    /// Adds an exchange that begins, unless it is in the list already.
    @inline(never)
    func add(_ exchange: ExchangeActor) {
        exchanges.withLock { exchanges in
            guard exchange.marks.listPosition < 0 else { return }
            exchange.marks.listPosition = exchanges.count
            exchanges.append(exchange)
        }
    }

    /// Removes an exchange; does nothing if it is not in the list.
    @inline(never)
    func remove(_ exchange: ExchangeActor) {
        exchanges.withLock { exchanges in
            let position = exchange.marks.listPosition
            guard position >= 0 else { return }
            exchange.marks.listPosition = -1
            let last = exchanges.removeLast()
            guard position < exchanges.count else { return }
            last.marks.listPosition = position
            exchanges[position] = last
        }
    }

    /// Keeps all exchanges that wait for a slot from starting. The caller cancels them.
    func keepFromStarting() {
        exchanges.withLock { exchanges in
            for exchange in exchanges { exchange.marks.keepFromStarting() }
        }
    }
}
