#if Configuration
import Configuration

/// A reader of values by their types, in which a value of another type is an error and a missing value is `nil`.
///
/// The methods that fetch are used, because those that get return the same for a missing value and for one of another type.
struct SettingReader {
    /// A number, or the word that may be in its place.
    enum Amount<Number: Sendable>: Sendable {
        case number(Number)
        case word
    }

    let config: ConfigReader

    /// The prefix of the reader's keys; empty if it has none. A reader tells it in its description alone.
    var scope: String {
        let match = config.description.firstMatch(of: #/^ConfigReader\[keyPrefix: (.*), providers: /#)
        return match.map { String($0.output.1) } ?? ""
    }

    /// Reads a text.
    ///
    /// - Parameter expectation: The text that is expected, in words.
    func string(_ key: String, isSecret: Bool, expecting expectation: String = "a text") async throws -> String? {
        try await Self.expecting("\(expectation) is expected") {
            try await config.fetchString(forKey: ConfigKey(key), isSecret: isSecret)
        }
    }

    func bool(_ key: String) async throws -> Bool? {
        try await Self.expecting("true or false is expected") {
            try await config.fetchBool(forKey: ConfigKey(key))
        }
    }

    /// Reads a number.
    ///
    /// - Parameter word: The word that may stand for the number; `nil` if there is none.
    func number(_ key: String, or word: String?) async throws -> Amount<Double>? {
        try await Self.expecting("a number\(word.map { " or \($0)" } ?? "") is expected") {
            do {
                return try await config.fetchDouble(forKey: ConfigKey(key)).map(Amount.number)
            } catch {
                // Some providers distinguish whole numbers from others.
                if let number = try? await config.fetchInt(forKey: ConfigKey(key)) { return .number(Double(number)) }
                return try await self.word(word, key, after: error)
            }
        }
    }

    /// Reads a whole number.
    ///
    /// - Parameter word: The word that may stand for the number; `nil` if there is none.
    func integer(_ key: String, or word: String?) async throws -> Amount<Int>? {
        try await Self.expecting("a whole number\(word.map { " or \($0)" } ?? "") is expected") {
            do {
                return try await config.fetchInt(forKey: ConfigKey(key)).map(Amount.number)
            } catch {
                return try await self.word(word, key, after: error)
            }
        }
    }

    /// Reads texts. A single text counts as a list of one.
    func strings(_ key: String, isSecret: Bool) async throws -> [String]? {
        try await Self.expecting("a list of texts is expected") {
            do {
                return try await config.fetchStringArray(forKey: ConfigKey(key), isSecret: isSecret)
            } catch {
                guard let text = try? await config.fetchString(forKey: ConfigKey(key), isSecret: isSecret) else {
                    throw error
                }
                return [text]
            }
        }
    }

    /// Reads whole numbers. A single number counts as a list of one.
    func integers(_ key: String) async throws -> [Int]? {
        try await Self.expecting("a list of whole numbers is expected") {
            do {
                return try await config.fetchIntArray(forKey: ConfigKey(key))
            } catch {
                guard let number = try? await config.fetchInt(forKey: ConfigKey(key)) else { throw error }
                return [number]
            }
        }
    }

    /// Returns the word if the value is that.
    ///
    /// - Throws: `error` if it is not.
    private func word<Number: Sendable>(
        _ word: String?, _ key: String, after error: any Error
    ) async throws -> Amount<Number> {
        guard let word, (try? await config.fetchString(forKey: ConfigKey(key))) == word else { throw error }
        return .word
    }

    /// Adds the expectation to the error of a provider.
    private static func expecting<Value>(
        _ expectation: String, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw SettingProblem("\(expectation) (\(error))")
        }
    }
}
#endif
