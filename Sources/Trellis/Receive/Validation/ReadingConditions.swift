/// The conditions that one reader requires of an answer before the answer is read.
///
/// An instance is made for each reading, and passed from the reader to the call. The attempts of the call are judged by these
/// conditions, so that retriers are asked about an answer that is refused.
final class ReadingConditions: Sendable {
    let validation: Validation
    /// A Boolean value: the status and the content type are checked if no validator for them was named.
    let hasDefaults: Bool

    private init(_ validation: Validation, hasDefaults: Bool) {
        self.validation = validation
        self.hasDefaults = hasDefaults
    }

    /// The conditions of readers that named no validators: the defaults.
    private static let standard = ReadingConditions(Validation(), hasDefaults: true)

    /// Returns the conditions of a reading; `nil` if any answer is accepted.
    static func of(_ validation: Validation, withDefaults hasDefaults: Bool) -> ReadingConditions? {
        if validation.isSilent { return hasDefaults && !validation.isOff ? standard : nil }
        return ReadingConditions(validation, hasDefaults: hasDefaults)
    }

    /// Checks an answer, unless an attempt has checked the answer by these conditions already.
    ///
    /// - Throws: The first failure.
    func check(_ answer: Answer) async throws {
        if let verdict = answer.verdict, verdict.conditions === self {
            if let error = verdict.error { throw error }
        } else {
            try await validation.validate(answer, withDefaults: hasDefaults)
        }
    }

    /// Returns the result of ``check(_:)``, to be kept with the answer.
    func verdict(on answer: Answer) async -> Verdict {
        do {
            try await validation.validate(answer, withDefaults: hasDefaults)
            return Verdict(conditions: self, error: nil)
        } catch {
            return Verdict(conditions: self, error: error)
        }
    }

    /// Returns whether the head alone is enough to refuse the answer. Validators after one that needs the body are not asked, because
    /// the first failure is the one that is thrown.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        for validator in validation.validators(withDefaults: hasDefaults) {
            guard let isMet = validator.isMet(by: head, of: request) else { return false }
            if !isMet { return true }
        }
        return false
    }
}

/// The result of checking an answer by the conditions of a reader.
final class Verdict: Sendable {
    let conditions: ReadingConditions
    /// The first failure; `nil` if the answer is accepted.
    let error: (any Error)?

    init(conditions: ReadingConditions, error: (any Error)?) {
        self.conditions = conditions
        self.error = error
    }
}

/// The conditions of all readers of a call, in the order of their arrival.
struct CallConditions: Sendable {
    private var all: [ReadingConditions] = []
    /// A Boolean value: at least one reader accepts any answer.
    private var acceptsAll = false

    /// The conditions that attempts are judged by: those of the first reader that has any.
    var first: ReadingConditions? { all.first }

    /// Adds the conditions of a reader; `nil` for a reader that accepts any answer.
    mutating func add(_ conditions: ReadingConditions?) {
        if let conditions { all.append(conditions) } else { acceptsAll = true }
    }

    /// Returns whether all readers refuse an answer by its head.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        !acceptsAll && !all.isEmpty && all.allSatisfy { $0.refuses(head, of: request) }
    }
}

/// The readers of an answer, which can be asked to judge the answer by its head alone.
protocol HeadValidator: Sendable {
    /// Returns whether all readers refuse the answer.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool
}

extension ReadingConditions: HeadValidator {}
