import CurlEngine

/// The plan of a transport or of a server at work: the numbers of its rules, and the faults that have begun.
final class FaultSchedule: Sendable {
    /// The state of a rule in one stage.
    private struct Progress: Sendable {
        var count = 0
        var generator: SeededGenerator

        init(_ rule: FaultRule) {
            if case .probability(_, let seed) = rule.selection {
                generator = SeededGenerator(seed: seed)
            } else {
                generator = SeededGenerator(seed: 0)
            }
        }

        mutating func applies(_ rule: FaultRule) -> Bool {
            count += 1
            return switch rule.selection {
            case .always: true
            case .first(let limit): count <= limit
            case .after(let limit): count > limit
            case .every(let number): count % number == 0
            case .probability(let probability, _): Double.random(in: 0..<1, using: &generator) < probability
            }
        }
    }

    /// The faults that have begun, in order.
    let begun = LoopbackServer.Waiters<[Fault]>([])
    /// The clock of latencies and drips; `nil` for real time.
    let clock: TestClock?
    private let rules: [FaultRule]
    /// The states of the rules by stage, and for a transport that has no stages.
    private let progress: Locked<[[Progress]]>

    init(_ plan: FaultPlan, clock: TestClock? = nil) {
        self.clock = clock
        rules = plan.rules
        progress = Locked(Array(repeating: plan.rules.map(Progress.init), count: Fault.Stage.allCases.count + 1))
    }

    /// Whether nothing is planned.
    var isEmpty: Bool { rules.isEmpty }

    /// Returns the faults of the next request.
    ///
    /// - Parameters:
    ///   - stage: The stage; `nil` for all stages together.
    ///   - request: The request; `nil` if it is not known, so that rules with predicates do not apply.
    func next(_ stage: Fault.Stage?, _ request: FaultedRequest?) -> [Fault] {
        guard !rules.isEmpty else { return [] }
        // Predicates are the test's code, and may take as long as they like: they run without the lock.
        let matching = rules.indices.filter { index in
            let rule = rules[index]
            guard stage == nil || rule.faults.contains(where: { $0.stage == stage }) else { return false }
            guard !rule.predicates.isEmpty else { return true }
            return request.map { request in rule.predicates.allSatisfy { $0(request) } } ?? false
        }
        let slot = stage.map(\.rawValue) ?? Fault.Stage.allCases.count
        return progress.withLock { progress in
            matching.flatMap { index -> [Fault] in
                guard progress[slot][index].applies(rules[index]) else { return [] }
                return rules[index].faults.filter { stage == nil || $0.stage == stage }
            }
        }
    }

    /// Records that a fault has begun.
    func begin(_ fault: Fault) { begun.update { $0.append(fault) } }

    /// Waits for a latency. With a clock, the time is counted from an instant before the fault is recorded, so that a test that knows of
    /// the fault can move the clock.
    func pause(for duration: Duration, of fault: Fault) async throws {
        guard let clock else {
            begin(fault)
            return try await Task.sleep(for: duration)
        }
        let end = clock.now.advanced(by: duration)
        begin(fault)
        try await clock.sleep(until: end)
    }
}
