import CurlEngine
import Synchronization

/// What any thread may ask of an exchange, whose state only the thread of its engine touches.
struct ExchangeMarks: ~Copyable, Sendable {
    private struct Marks: OptionSet {
        let rawValue: UInt8

        static let hasMoved = Marks(rawValue: 1 << 0)
        static let hasEnded = Marks(rawValue: 1 << 1)
        static let mayNotStart = Marks(rawValue: 1 << 2)
    }

    private let marks = Atomic<UInt8>(0)
    private let newHome = LazyReference<ExchangeEngine>()
    private let position = Atomic(-1)

    private func has(_ mark: Marks) -> Bool { marks.load(ordering: .acquiring) & mark.rawValue != 0 }

    private func set(_ mark: Marks) { marks.bitwiseOr(mark.rawValue, ordering: .acquiringAndReleasing) }

    /// Whether the exchange has moved from its first engine. Reading a mark is far cheaper than reading the reference, and every entry into
    /// the exchange reads it.
    var hasMoved: Bool { has(.hasMoved) }

    /// The engine that the exchange has moved to, if any.
    var movedTo: ExchangeEngine? { newHome.load() }

    /// Records that the exchange lives on another engine from now on. Called once, on the thread of the first engine, by an exchange that
    /// waits for its slot and touches none of its state afterwards.
    func move(to engine: ExchangeEngine) {
        _ = newHome.storeIfNil(engine)
        set(.hasMoved)
    }

    /// Whether the exchange has ended.
    var hasEnded: Bool { has(.hasEnded) }

    /// Records that the exchange has ended.
    func end() { set(.hasEnded) }

    /// Whether the exchange is about to be cancelled, and takes no slot before that.
    var mayNotStart: Bool { has(.mayNotStart) }

    /// Keeps the exchange from taking a slot. The caller cancels the exchange.
    func keepFromStarting() { set(.mayNotStart) }

    /// The position in the ``ExchangeList`` of the first engine, whose lock guards it; -1 outside of the list.
    var listPosition: Int {
        get { position.load(ordering: .relaxed) }
        nonmutating set { position.store(newValue, ordering: .relaxed) }
    }
}
