import CurlEngine
import Synchronization

/// The exchanges that began on one engine and have not ended. Any thread may use the list, so that a request is listed and cancelled before
/// its engine has looked at it.
final class ExchangeList: Sendable {
    private struct State {
        var exchanges: [ExchangeActor] = []
        /// The number of exchanges that were added.
        var added = 0
    }

    private let state = Locked(State())

    /// The exchanges that have not ended, in no particular order.
    var all: [ExchangeActor] { counted.exchanges }

    /// The exchanges that have not ended, and the number of exchanges that were added until then.
    var counted: (exchanges: [ExchangeActor], added: Int) {
        let state = state.withLock { $0 }
        return (state.exchanges.filter { !$0.isEnded }, state.added)
    }

    /// Adds an exchange that begins, unless it is in the list already.
    @inline(never)
    func add(_ exchange: ExchangeActor) {
        state.withLock { state in
            guard exchange.marks.listPosition < 0 else { return }
            exchange.marks.listPosition = state.exchanges.count
            state.exchanges.append(exchange)
            state.added += 1
        }
    }

    /// Removes an exchange; does nothing if it is not in the list.
    @inline(never)
    func remove(_ exchange: ExchangeActor) {
        state.withLock { state in
            let position = exchange.marks.listPosition
            guard position >= 0 else { return }
            exchange.marks.listPosition = -1
            let last = state.exchanges.removeLast()
            guard position < state.exchanges.count else { return }
            last.marks.listPosition = position
            state.exchanges[position] = last
        }
    }

    /// Keeps all exchanges that wait for a slot from starting. The caller cancels them.
    func keepFromStarting() {
        state.withLock { state in
            for exchange in state.exchanges { exchange.marks.keepFromStarting() }
        }
    }
}

/// What any thread may ask of an exchange, whose state only the thread of its engine touches.
struct ExchangeMarks: ~Copyable, Sendable {
    private struct Marks: OptionSet {
        let rawValue: UInt8

        static let hasEnded = Marks(rawValue: 1 << 0)
        static let mayNotStart = Marks(rawValue: 1 << 1)
        static let hasBegun = Marks(rawValue: 1 << 2)
    }

    private let marks = Atomic<UInt8>(0)
    private let position = Atomic(-1)

    private func has(_ mark: Marks) -> Bool { marks.load(ordering: .acquiring) & mark.rawValue != 0 }

    private func set(_ mark: Marks) { marks.bitwiseOr(mark.rawValue, ordering: .acquiringAndReleasing) }

    /// Whether the engine has begun the exchange, which is listed before.
    var hasBegun: Bool { has(.hasBegun) }

    /// Records that the engine has begun the exchange.
    func begin() { set(.hasBegun) }

    /// Whether the exchange has ended.
    var hasEnded: Bool { has(.hasEnded) }

    /// Records that the exchange has ended.
    func end() { set(.hasEnded) }

    /// Whether the exchange is about to be cancelled, and takes no slot before that.
    var mayNotStart: Bool { has(.mayNotStart) }

    /// Keeps the exchange from taking a slot. The caller cancels the exchange.
    func keepFromStarting() { set(.mayNotStart) }

    /// The position in the ``ExchangeList`` of the engine, whose lock guards it; -1 outside of the list.
    var listPosition: Int {
        get { position.load(ordering: .relaxed) }
        nonmutating set { position.store(newValue, ordering: .relaxed) }
    }
}
