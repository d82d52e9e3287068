import CurlEngine

/// The validators of a request in the order in which they were named, and the defaults for a request without validators.
///
/// Methods that interpret the body check the status and the content type, unless a validator for the same property was named:
/// naming acceptable content types does not make a 404 page a model.
package struct Validation: Sendable {
    private var validators: [Validator] = []
    /// Whether all checks are off, including the defaults.
    private(set) var isOff = false

    /// Creates a validation without validators.
    package init() {}

    /// Returns a copy with one more validator.
    package func adding(_ validator: Validator) -> Validation {
        var copy = self
        copy.validators.append(validator)
        copy.isOff = false
        return copy
    }

    /// A validation without validators and without the defaults.
    package static var off: Validation {
        var validation = Validation()
        validation.isOff = true
        return validation
    }

    /// Whether no validators were named.
    package var isSilent: Bool { validators.isEmpty }

    /// Returns the validators that apply, in this order: the defaults that no named validator replaces, then the named ones.
    package func validators(withDefaults hasDefaults: Bool) -> [Validator] {
        guard hasDefaults, !isOff else { return validators }
        guard !validators.isEmpty else { return Self.defaults }
        return Self.defaults.filter { standard in !validators.contains { $0.replaces(standard) } } + validators
    }

    private static let defaults: [Validator] = [.successfulStatus, .acceptedContentType]
}

extension [Validator] {
    /// Checks a response by the validators in their order, and reports the result to its observer, once for all of them.
    ///
    /// - Throws: The first failure.
    func validate(_ answer: Answer) async throws {
        guard !isEmpty else { return }
        do {
            for validator in self { try await validator.check(answer) }
        } catch {
            answer.observer?.didValidate(error)
            throw error
        }
        answer.observer?.didValidate(nil)
    }
}

extension Validator {
    /// Returns whether both validators check the status, or both check the content type.
    fileprivate func replaces(_ other: Validator) -> Bool {
        switch (rule, other.rule) {
        case (.status, .status), (.contentType, .contentType): true
        default: false
        }
    }
}

/// The conditions that one reader requires of a response before the response is read.
///
/// An instance is made for each reading, and passed from the reader to the call. The attempts of the call are validated by these
/// conditions, so that retriers are asked about a response that is refused.
final class ReadingConditions: Sendable {
    let validation: Validation
    /// Whether the status and the content type are checked if no validator for them was named.
    let hasDefaults: Bool

    private init(_ validation: Validation, hasDefaults: Bool) {
        self.validation = validation
        self.hasDefaults = hasDefaults
    }

    deinit { UserObjects.release([validation]) }

    /// The conditions of readers that named no validators: the defaults.
    private static let standard = ReadingConditions(Validation(), hasDefaults: true)

    /// Returns the conditions of a reading; `nil` if any response is accepted.
    static func of(_ validation: Validation, withDefaults hasDefaults: Bool) -> ReadingConditions? {
        if validation.isSilent { return hasDefaults && !validation.isOff ? standard : nil }
        return ReadingConditions(validation, hasDefaults: hasDefaults)
    }

    /// Checks a response, unless an attempt has checked the response by these conditions already.
    ///
    /// - Throws: The first failure.
    func check(_ answer: Answer) async throws {
        if let validationResult = answer.validationResult, validationResult.conditions === self {
            if let error = validationResult.error { throw error }
        } else {
            try await validation.validators(withDefaults: hasDefaults).validate(answer)
        }
    }

    /// Returns the result of ``check(_:)``, to be kept with the response.
    func validationResult(of answer: Answer) async -> ValidationResult {
        do {
            try await validation.validators(withDefaults: hasDefaults).validate(answer)
            return ValidationResult(conditions: self, error: nil)
        } catch {
            return ValidationResult(conditions: self, error: error)
        }
    }

    /// Returns whether the head alone is enough to accept the response.
    func accept(_ head: ResponseHead, of request: Request) -> Bool {
        validation.validators(withDefaults: hasDefaults).allSatisfy { $0.isMet(by: head, of: request) == true }
    }

    /// Returns whether the head alone is enough to refuse the response. Validators after one that needs the body are not asked, because
    /// the first failure is the one that is thrown.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        for validator in validation.validators(withDefaults: hasDefaults) {
            guard let isMet = validator.isMet(by: head, of: request) else { return false }
            if !isMet { return true }
        }
        return false
    }
}

/// The result of checking a response by the conditions of a reader.
final class ValidationResult: Sendable {
    let conditions: ReadingConditions
    /// The first failure; `nil` if the response is accepted.
    let error: (any Error)?

    init(conditions: ReadingConditions, error: (any Error)?) {
        self.conditions = conditions
        self.error = error
    }
}

/// The conditions of all readers of a call, in the order of their arrival.
struct CallConditions: Sendable {
    private var all: [ReadingConditions] = []
    /// Whether at least one reader accepts any response.
    private var acceptsAll = false

    /// The conditions of attempts, which the first reader with conditions has set.
    var first: ReadingConditions? { all.first }

    /// Adds the conditions of a reader; `nil` if the reader accepts any response.
    mutating func add(_ conditions: ReadingConditions?) {
        if let conditions { all.append(conditions) } else { acceptsAll = true }
    }

    /// Returns whether all readers refuse a response by its head.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        !acceptsAll && !all.isEmpty && all.allSatisfy { $0.refuses(head, of: request) }
    }
}

/// The readers of a response, which can be asked to check the response by its head alone.
protocol HeadValidator: AnyObject, Sendable {
    /// Returns whether all readers refuse the response.
    func refuses(_ head: ResponseHead, of request: Request) -> Bool

    /// Tells the readers of a final head, on the engine thread, before its body arrives.
    func didReceive(_ head: ResponseHead)
}

extension HeadValidator {
    func didReceive(_ head: ResponseHead) {}
}

extension ReadingConditions: HeadValidator {}

/// The readers of a response, with a function that is called with its head.
final class HeadReader: HeadValidator {
    /// The function until the head has come. What it retains is released then.
    private let onHead: Locked<(@Sendable (ResponseHead) -> Void)?>
    private let readers: (any HeadValidator)?

    init(_ onHead: @escaping @Sendable (ResponseHead) -> Void, _ readers: (any HeadValidator)?) {
        self.onHead = Locked(onHead)
        self.readers = readers
    }

    func refuses(_ head: ResponseHead, of request: Request) -> Bool { readers?.refuses(head, of: request) ?? false }

    func didReceive(_ head: ResponseHead) { onHead.withLock { $0.take() }?(head) }
}
