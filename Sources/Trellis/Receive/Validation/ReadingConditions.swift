/// The conditions that one reader of an answer has before it is read.
///
/// One value is made for each reading, and handed from the reader into the call: its attempts are judged by it, so that retriers
/// hear of an answer that is refused.
final class ReadingConditions: Sendable {
    let validation: Validation
    /// Whether status and content type are checked where nothing was said of them.
    let hasDefaults: Bool

    private init(_ validation: Validation, hasDefaults: Bool) {
        self.validation = validation
        self.hasDefaults = hasDefaults
    }

    /// Those of readers that named nothing.
    private static let standard = ReadingConditions(Validation(), hasDefaults: true)

    /// The conditions of a reading; `nil` where any answer is accepted.
    static func of(_ validation: Validation, withDefaults hasDefaults: Bool) -> ReadingConditions? {
        if validation.isSilent { return hasDefaults && !validation.isOff ? standard : nil }
        return ReadingConditions(validation, hasDefaults: hasDefaults)
    }

    /// Checks an answer, unless an attempt has checked it already.
    ///
    /// - Throws: The first failure.
    func check(_ answer: Answer) async throws {
        if let verdict = answer.verdict, verdict.conditions === self {
            if let error = verdict.error { throw error }
        } else {
            try await validation.validate(answer, withDefaults: hasDefaults)
        }
    }

    /// What ``check(_:)`` comes to, to be kept with the answer.
    func verdict(on answer: Answer) async -> Verdict {
        do {
            try await validation.validate(answer, withDefaults: hasDefaults)
            return Verdict(conditions: self, error: nil)
        } catch {
            return Verdict(conditions: self, error: error)
        }
    }

    /// Whether the head alone is enough to refuse the answer. Validators behind one that needs the body are not asked: the first
    /// failure wins.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        for validator in validation.validators(withDefaults: hasDefaults) {
            guard let isMet = validator.isMet(by: head, of: request) else { return false }
            if !isMet { return true }
        }
        return false
    }
}

/// What the conditions of a reader made of an answer.
final class Verdict: Sendable {
    let conditions: ReadingConditions
    let error: (any Error)?

    init(conditions: ReadingConditions, error: (any Error)?) {
        self.conditions = conditions
        self.error = error
    }
}

/// The conditions of all readers of a call, in the order of their coming.
struct CallConditions: Sendable {
    private var all: [ReadingConditions] = []
    private var acceptsAll = false

    /// Those that attempts are judged by: the reader's that came first.
    var first: ReadingConditions? { all.first }

    /// Adds a reader; `nil`: it accepts any answer.
    mutating func add(_ conditions: ReadingConditions?) {
        if let conditions { all.append(conditions) } else { acceptsAll = true }
    }

    /// Whether all readers refuse an answer by its head.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        !acceptsAll && !all.isEmpty && all.allSatisfy { $0.refuses(head, of: request) }
    }
}

/// The readers of an answer, asked whether they refuse it by its head alone.
protocol HeadJudge: Sendable {
    /// Whether all readers refuse the answer.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool
}

extension ReadingConditions: HeadJudge {}
