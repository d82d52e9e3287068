/// The validators of a request in the order in which they were named, and what holds where none were.
///
/// Verbs that interpret the body check the status and the content type unless somebody said something about just that:
/// naming acceptable content types does not make a 404 page a model.
package struct Validation: Sendable {
    private var validators: [Validator] = []
    /// Nothing is checked, the defaults included.
    private(set) var isOff = false

    /// Nothing was said.
    package init() {}

    /// With one more condition.
    package func adding(_ validator: Validator) -> Validation {
        var copy = self
        copy.validators.append(validator)
        copy.isOff = false
        return copy
    }

    /// Without any, and without the defaults.
    package static var off: Validation {
        var validation = Validation()
        validation.isOff = true
        return validation
    }

    /// Nothing was named.
    package var isSilent: Bool { validators.isEmpty }

    /// What is checked, in this order: the defaults that nothing replaces, then what was named.
    func validators(withDefaults hasDefaults: Bool) -> [Validator] {
        guard hasDefaults, !isOff else { return validators }
        guard !validators.isEmpty else { return Self.defaults }
        return Self.defaults.filter { standard in !validators.contains { $0.replaces(standard) } } + validators
    }

    /// Checks an answer; the first failure wins.
    package func validate(_ answer: Answer, withDefaults hasDefaults: Bool) async throws {
        for validator in validators(withDefaults: hasDefaults) { try await validator.validate(answer) }
    }

    private static let defaults: [Validator] = [.successfulStatus, .acceptedContentType]
}

extension Validator {
    fileprivate func replaces(_ other: Validator) -> Bool {
        switch (rule, other.rule) {
        case (.status, .status), (.contentType, .contentType): true
        default: false
        }
    }
}
