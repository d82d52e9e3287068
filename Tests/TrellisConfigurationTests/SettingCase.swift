#if Configuration
import Configuration
import TrellisCore

/// The value of a setting in a test, for each kind of provider.
enum SettingValue: Sendable {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)
    case strings([String])
    case ints([Int])

    var configValue: ConfigValue {
        let content: ConfigContent =
            switch self {
            case .string(let value): .string(value)
            case .int(let value): .int(value)
            case .double(let value): .double(value)
            case .bool(let value): .bool(value)
            case .strings(let value): .stringArray(value)
            case .ints(let value): .intArray(value)
            }
        return ConfigValue(content, isSecret: false)
    }

    /// The value in an environment variable.
    var text: String {
        switch self {
        case .string(let value): value
        case .int(let value): "\(value)"
        case .double(let value): "\(value)"
        case .bool(let value): "\(value)"
        case .strings(let value): value.joined(separator: ",")
        case .ints(let value): value.map { "\($0)" }.joined(separator: ",")
        }
    }
}

/// A setting with a value, and the property of the configuration that has it then.
struct SettingCase: Sendable, CustomStringConvertible {
    let key: String
    let value: SettingValue
    /// The settings that this one needs.
    let others: [String: SettingValue]
    /// The property with the value.
    let expected: String
    let property: @Sendable (SessionConfiguration) async throws -> String

    var description: String { key }

    init(
        _ key: String, _ value: SettingValue, with others: [String: SettingValue] = [:], _ expected: String,
        _ property: @escaping @Sendable (SessionConfiguration) async throws -> String
    ) {
        self.key = key
        self.value = value
        self.others = others
        self.expected = expected
        self.property = property
    }

    /// Returns a reader of some settings in memory, below the scope `http`.
    static func reader(_ settings: [String: SettingValue]) -> ConfigReader {
        let values = settings.map { key, value in
            (AbsoluteConfigKey(ConfigKey("http.\(key)")), value.configValue)
        }
        return ConfigReader(provider: InMemoryProvider(values: Dictionary(uniqueKeysWithValues: values)))
            .scoped(to: "http")
    }

    /// Returns a reader of some settings in environment variables with names that begin with `HTTP_`.
    static func environment(_ settings: [String: String]) -> ConfigReader {
        let variables = settings.map { (variable("http.\($0)"), $1) }
        let provider = EnvironmentVariablesProvider(
            environmentVariables: Dictionary(uniqueKeysWithValues: variables))
        return ConfigReader(provider: provider).scoped(to: "http")
    }

    /// Returns the name of the environment variable of a key: in capitals, with an underscore for each dot, and one before each capital
    /// letter after a small one.
    static func variable(_ key: String) -> String {
        var name = ""
        for (last, letter) in zip([nil] + key.map(Optional.some), key) {
            if letter.isUppercase, last?.isLowercase == true { name += "_" }
            name += letter == "." ? "_" : letter.uppercased()
        }
        return name
    }
}
#endif
