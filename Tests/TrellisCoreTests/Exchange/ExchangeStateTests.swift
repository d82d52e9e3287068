import Testing

@testable import TrellisCore

/// The state machine of an exchange, in full.
struct ExchangeStateTests {
    typealias Phase = ExchangeState.Phase
    typealias Event = ExchangeState.Event
    typealias Effects = ExchangeState.Effects

    struct Row: Sendable, Hashable, CustomTestStringConvertible {
        let phase: Phase
        let event: Event
        let next: Phase
        let effects: Effects

        init(_ phase: Phase, _ event: Event, _ next: Phase, _ effects: Effects) {
            (self.phase, self.event, self.next, self.effects) = (phase, event, next, effects)
        }

        var testDescription: String { "\(phase) + \(event)" }
    }

    /// A shortest sequence of events to every reachable phase.
    static let ways: [Phase: [Event]] = {
        var ways: [Phase: [Event]] = [.initialized: []]
        var frontier: [[Event]] = [[]]
        while !frontier.isEmpty {
            let way = frontier.removeFirst()
            for event in Event.allCases {
                let longer = way + [event]
                let phase = state(after: longer).phase
                if ways[phase] == nil {
                    ways[phase] = longer
                    frontier.append(longer)
                }
            }
        }
        return ways
    }()

    static func state(after events: [Event]) -> ExchangeState {
        var state = ExchangeState()
        for event in events { _ = state.handle(event) }
        return state
    }

    @Test(arguments: table)
    func eachEventInEachPhaseDoesWhatTheTableSays(_ row: Row) throws {
        var state = Self.state(after: try #require(Self.ways[row.phase], "the phase cannot be reached"))
        let effects = state.handle(row.event)
        #expect(state.phase == row.next)
        #expect(effects == row.effects)
    }

    @Test func theTableHasEveryReachablePhaseWithEveryEventOnce() {
        let pairs = Set(Self.table.map { "\($0.phase) \($0.event)" })
        #expect(pairs.count == Self.table.count, "a row stands twice")
        #expect(Set(Self.table.map(\.phase)) == Set(Self.ways.keys))
        #expect(Self.table.count == Self.ways.count * Event.allCases.count)
    }

    @Test(arguments: [Phase.resumed(.parked), .suspended(.queued)])
    func aHeldUpRequestHasNoPlaceInTheQueueAndOneThatRunsHas(_ phase: Phase) {
        #expect(Self.ways[phase] == nil)
    }

    // MARK: Invariants of every row

    @Test(arguments: table.filter { $0.phase == .cancelled || $0.phase == .finished })
    func theEndIsFinal(_ row: Row) { #expect(row.next == row.phase) }

    @Test(arguments: table)
    func theEndIsReportedExactlyWhenItComes(_ row: Row) {
        let ends = [.cancelled, .finished].contains(row.next) && row.next != row.phase
        #expect(row.effects.contains(.reportEnd) == ends)
    }

    @Test(arguments: table)
    func whoHoldsASlotGivesItBackExactlyOnce(_ row: Row) {
        // Each `admit` brings a slot; only a start keeps the slot, and never twice.
        let held = Self.holdsSlot(row.phase) + (row.event == .admit ? 1 : 0)
        let released = row.effects.contains(.releaseSlot) ? 1 : 0
        #expect(held - released == Self.holdsSlot(row.next))
    }

    @Test(arguments: table)
    func whoLeavesTheQueueIsTakenOutOfIt(_ row: Row) {
        let queued = { (phase: Phase) in phase == .resumed(.queued) ? 1 : 0 }
        let entered = row.effects.contains(.enterQueue) ? 1 : 0
        let left = row.effects.contains(.leaveQueue) || row.event == .admit ? 1 : 0
        let change = queued(row.next) - queued(row.phase)
        #expect(change == 0 || change == entered - left)
    }

    private static func holdsSlot(_ phase: Phase) -> Int {
        switch phase {
        case .resumed(let progress), .suspended(let progress): progress == .parked || progress == .queued ? 0 : 1
        case .initialized, .cancelled, .finished: 0
        }
    }

    // MARK: Properties

    @Test(arguments: ways.keys.map { $0 })
    func theQuestionsFollowFromThePhase(_ phase: Phase) throws {
        let state = Self.state(after: try #require(Self.ways[phase]))
        switch phase {
        case .initialized: #expect(state.progress == nil && !state.isEnded && !state.isSuspended)
        case .resumed(let progress): #expect(state.progress == progress && !state.isEnded && !state.isSuspended)
        case .suspended(let progress): #expect(state.progress == progress && !state.isEnded && state.isSuspended)
        case .cancelled, .finished: #expect(state.progress == nil && state.isEnded && !state.isSuspended)
        }
    }
}
