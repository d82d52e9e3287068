import CurlEngine
import Synchronization

/// What any thread may ask of an exchange, whose state only the thread of its engine touches.
struct ExchangeMarks: ~Copyable, Sendable {
    private struct Marks: OptionSet {
        let rawValue: UInt8

        static let hasEnded = Marks(rawValue: 1 << 0)
        static let mayNotStart = Marks(rawValue: 1 << 1)
    }

    private let marks = Atomic<UInt8>(0)
    private let position = Atomic(-1)

    private func has(_ mark: Marks) -> Bool { marks.load(ordering: .acquiring) & mark.rawValue != 0 }

    private func set(_ mark: Marks) { marks.bitwiseOr(mark.rawValue, ordering: .acquiringAndReleasing) }

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
