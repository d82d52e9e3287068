import CurlEngine

/// The number of events within a span of time before the present, and the number of those that are marked. The span moves on in
/// ten steps, so that it is up to a tenth shorter than its length.
struct SlidingWindow: Sendable {
    private struct Slot: Sendable {
        var total = 0
        var marked = 0
    }

    private static let slotCount = 10

    /// The number of events.
    private(set) var total = 0
    /// The number of marked events.
    private(set) var marked = 0
    private let slotLength: UInt64
    private var slots = [Slot](repeating: Slot(), count: slotCount)
    /// The number of the present slot on the engine's time line.
    private var present: UInt64 = 0

    init(length: Duration) { slotLength = max(length.clampedNanoseconds / UInt64(Self.slotCount), 1) }

    /// Counts an event, which may be marked.
    mutating func count(_ isMarked: Bool = false, at now: EngineInstant) {
        advance(to: now)
        slots[index(present)].total += 1
        total += 1
        guard isMarked else { return }
        slots[index(present)].marked += 1
        marked += 1
    }

    /// Counts a marked event that does not count in the total.
    mutating func countMarkedAlone(at now: EngineInstant) {
        advance(to: now)
        slots[index(present)].marked += 1
        marked += 1
    }

    /// Removes the events that are too old.
    mutating func advance(to now: EngineInstant) {
        let number = now.nanoseconds / slotLength
        // Two threads may read the clock in one order and arrive here in another.
        guard number > present else { return }
        for _ in 0..<min(number - present, UInt64(Self.slotCount)) {
            present += 1
            forget(index(present))
        }
        present = number
    }

    private mutating func forget(_ index: Int) {
        total -= slots[index].total
        marked -= slots[index].marked
        slots[index] = Slot()
    }

    private func index(_ number: UInt64) -> Int { Int(number % UInt64(Self.slotCount)) }
}
