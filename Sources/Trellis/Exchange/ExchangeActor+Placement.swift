import CurlEngine
import Synchronization

/// The right to start an exchange. The engine of the exchange takes it, or another thread that places the request on another one.
enum StartRight: UInt8, AtomicRepresentable {
    /// Only the engine may take the right.
    case ofEngine
    /// The engine may take the right, and so may another thread.
    case free
    /// The engine has taken the right.
    case taken
    /// Another exchange takes the place of this one, which never starts.
    case replaced
}

/// The error for the task of an exchange that waited for its slot when its engine became stuck. The task creates another exchange.
struct EngineIsStuck: Error {}

/// The replacement of an exchange that waits for its slot on an engine that is stuck, by one on another engine.
///
/// The actor itself cannot move then, because only its own engine may touch its state. Therefore the task that waits for the exchange
/// creates another one. The exchanges of a ``RequestActor`` stay, because that actor is on the same engine, with the readers and the
/// deadline of the call.
extension ExchangeActor {
    /// Indicates whether another exchange takes the place of this one.
    nonisolated var isReplaced: Bool { startRight.load(ordering: .relaxed) == .replaced }

    /// The exchange that was sent: this one, or the one that has taken its place.
    nonisolated var latest: ExchangeActor { replacement.load()?.latest ?? self }

    /// Lets another exchange take the right to start, because one task alone waits for this one.
    nonisolated func freeStartRight() {
        _ = startRight.compareExchange(expected: .ofEngine, desired: .free, ordering: .relaxed)
    }

    /// Takes the right to start. Returns `false` if the exchange was replaced.
    nonisolated func takeStartRight() -> Bool {
        guard startRight.exchange(.taken, ordering: .sequentiallyConsistent) == .replaced else { return true }
        startRight.store(.replaced, ordering: .relaxed)
        return false
    }

    /// Gives the right to start to an exchange that takes the place of this one. Returns `false` if the right is not free.
    nonisolated func giveUpStartRight() -> Bool {
        startRight.compareExchange(expected: .free, desired: .replaced, ordering: .sequentiallyConsistent).exchanged
    }

    /// The number of the exchange in the queue since it last began to wait; 0 before that.
    nonisolated var ticket: Int {
        get { ticketNumber.load(ordering: .relaxed) }
        set { ticketNumber.store(newValue, ordering: .relaxed) }
    }

    /// Creates the exchange that takes the place of this one, on an engine that is not stuck. The request keeps its place in the queue.
    nonisolated func replaced() -> ExchangeActor {
        let exchange = ExchangeActor(
            prepared, engine: admission.engine(for: prepared.queue), prefersEngine: false, admission: admission,
            readers: readers, isInFlight: true)
        exchange.ticketNumber.store(ticket, ordering: .relaxed)
        return replacement.storeIfNil(exchange)
    }
}
