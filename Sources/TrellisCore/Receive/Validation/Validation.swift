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

    /// Checks a response, and throws the first failure.
    package func validate(_ answer: Answer, withDefaults hasDefaults: Bool) async throws {
        try await validators(withDefaults: hasDefaults).validate(answer)
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
