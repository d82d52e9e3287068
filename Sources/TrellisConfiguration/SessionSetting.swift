#if Configuration
import TrellisCore

/// A setting of a ``/Trellis/SessionConfiguration`` that can come from outside; see
/// ``Trellis/SessionConfiguration/init(reading:defaults:)``.
///
/// The list of all settings helps programs that print their settings, or look for misspelled keys in their own files:
///
/// ```swift
/// for setting in SessionSetting.all { print(setting.key, setting.type, setting.unit, setting.meaning) }
/// ```
public struct SessionSetting: Sendable {
    /// The types of values, by the names of their types in swift-configuration.
    public enum ValueType: String, Sendable, Hashable, CaseIterable {
        /// A text.
        case string
        /// A whole number.
        case int
        /// A number.
        case double
        /// `true` or `false`.
        case bool
        /// A list of texts: an array in a file, and a text with commas in an environment variable. A single text is a list of one.
        case stringArray
        /// A list of whole numbers. A single number is a list of one.
        case intArray
    }

    /// The key, with dots between its parts: `timeouts.connect`.
    public let key: String
    /// The type of the value.
    public let type: ValueType
    /// The unit of a number, such as `s` for seconds, or the words that a text or a number can be; empty if there is none.
    public let unit: String
    /// The value that a configuration has without the setting, in words; empty if it has none.
    public let defaultValue: String
    /// The meaning in words.
    public let meaning: String
    /// Whether the value is read as a secret, so that access reporters do not show it.
    public let isSecret: Bool
    /// Reads the value and applies it; returns `false` if there is none.
    let read: @Sendable (SettingReader, inout SettingsDraft) async throws -> Bool

    /// All settings, in the order of the documentation.
    public static let all: [SessionSetting] =
        [general, connections, routes, security, steps, observation].flatMap { $0 }
}

extension SessionSetting {
    /// A closure that applies a value; its error is the setting's.
    typealias Change<Value> = @Sendable (inout SettingsDraft, Value) throws -> Void

    /// Creates a setting from a method that reads and a closure that applies.
    private init<Value: Sendable>(
        _ key: String, _ type: ValueType, unit: String = "", default value: String, meaning: String,
        isSecret: Bool = false, reading: @escaping @Sendable (SettingReader) async throws -> Value?,
        change: @escaping Change<Value>
    ) {
        self.key = key
        self.type = type
        self.unit = unit
        defaultValue = value
        self.meaning = meaning
        self.isSecret = isSecret
        read = { reader, draft in
            guard let value = try await reading(reader) else { return false }
            try change(&draft, value)
            return true
        }
    }

    /// A text.
    static func text(
        _ key: String, default value: String = "", _ meaning: String, isSecret: Bool = false,
        change: @escaping Change<String>
    ) -> SessionSetting {
        SessionSetting(
            key, .string, default: value, meaning: meaning, isSecret: isSecret,
            reading: { try await $0.string(key, isSecret: isSecret) }, change: change)
    }

    /// A text that is one of some words.
    static func choice<Value: Sendable>(
        _ key: String, of choices: [(String, Value)], default value: String = "", _ meaning: String,
        change: @escaping Change<Value>
    ) -> SessionSetting {
        let words = choices.map(\.0).joined(separator: ", ")
        return SessionSetting(key, .string, unit: words, default: value, meaning: meaning) {
            try await $0.string(key, isSecret: false, expecting: "one of \(words)")
        } change: { draft, text in
            guard let choice = choices.first(where: { $0.0 == text }) else {
                throw SettingProblem("'\(text)' is none of \(words)")
            }
            try change(&draft, choice.1)
        }
    }

    /// A truth value.
    static func flag(
        _ key: String, default value: String, _ meaning: String, change: @escaping Change<Bool>
    ) -> SessionSetting {
        SessionSetting(
            key, .bool, default: value, meaning: meaning, reading: { try await $0.bool(key) }, change: change)
    }

    /// A number of seconds, which may have a fraction.
    ///
    /// - Parameters:
    ///   - minimum: The smallest value; the value must be more than zero if it is zero.
    ///   - none: The word for no limit; `nil` if there must be a limit.
    static func seconds(
        _ key: String, default value: String = "", minimum: Double = 0, none: String? = nil, _ meaning: String,
        change: @escaping Change<Duration?>
    ) -> SessionSetting {
        SessionSetting(key, .double, unit: none.map { "s, or \($0)" } ?? "s", default: value, meaning: meaning) {
            try await $0.number(key, or: none)
        } change: { draft, amount in
            switch amount {
            case .word: try change(&draft, nil)
            case .number(let seconds):
                // A billion seconds are 31 years; the milliseconds of much more would have no room in an integer.
                try check(seconds, from: minimum, excludingZero: true, through: 1e9)
                try change(&draft, .seconds(seconds))
            }
        }
    }

    /// A number without a unit.
    static func number(
        _ key: String, default value: String = "", from minimum: Double, through maximum: Double = 1e9,
        excludingZero: Bool = false, _ meaning: String, change: @escaping Change<Double>
    ) -> SessionSetting {
        SessionSetting(key, .double, default: value, meaning: meaning) {
            try await $0.number(key, or: nil)
        } change: { draft, amount in
            guard case .number(let number) = amount else { return }
            try check(number, from: minimum, excludingZero: excludingZero, through: maximum)
            try change(&draft, number)
        }
    }

    /// A whole number.
    ///
    /// - Parameter word: The word that may stand for a number; `nil` if there is none.
    static func count(
        _ key: String, unit: String = "", default value: String = "", from minimum: Int = 1,
        through maximum: Int = .max, or word: String? = nil, _ meaning: String, change: @escaping Change<Int?>
    ) -> SessionSetting {
        let units = [unit, word.map { "or \($0)" } ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
        return SessionSetting(key, .int, unit: units, default: value, meaning: meaning) {
            try await $0.integer(key, or: word)
        } change: { draft, amount in
            guard case .number(let number) = amount else { return try change(&draft, nil) }
            guard number >= minimum else { throw SettingProblem("\(number) is less than \(minimum)") }
            guard number <= maximum else { throw SettingProblem("\(number) is more than \(maximum)") }
            try change(&draft, number)
        }
    }

    /// A list of texts.
    static func texts(
        _ key: String, default value: String = "", _ meaning: String, isSecret: Bool = false,
        change: @escaping Change<[String]>
    ) -> SessionSetting {
        SessionSetting(
            key, .stringArray, default: value, meaning: meaning, isSecret: isSecret,
            reading: { try await $0.strings(key, isSecret: isSecret) }, change: change)
    }

    /// A list of whole numbers.
    static func counts(
        _ key: String, default value: String, _ meaning: String, change: @escaping Change<[Int]>
    ) -> SessionSetting {
        SessionSetting(
            key, .intArray, default: value, meaning: meaning, reading: { try await $0.integers(key) }, change: change)
    }

    private static func check(
        _ number: Double, from minimum: Double, excludingZero: Bool, through maximum: Double
    ) throws {
        guard number.isFinite else { throw SettingProblem("\(number) is not a number") }
        guard number >= minimum else { throw SettingProblem("\(number) is less than \(minimum)") }
        guard number > 0 || !excludingZero else { throw SettingProblem("\(number) is not more than 0") }
        guard number <= maximum else { throw SettingProblem("\(number) is more than \(maximum)") }
    }
}
#endif
