#if Configuration
import Configuration
import Foundation
import Testing
import TrellisCaching
import TrellisCore
import TrellisConfiguration

/// Each setting, from each kind of provider.
struct SettingTests {
    @Test func thereIsACaseForEachSetting() {
        #expect(SettingCase.all.map(\.key).sorted() == SessionSetting.all.map(\.key).sorted())
        #expect(Set(SessionSetting.all.map(\.key)).count == SessionSetting.all.count)
    }

    @Test(arguments: SettingCase.all)
    func aSettingChangesTheConfiguration(_ setting: SettingCase) async throws {
        let without = try await SessionConfiguration(reading: SettingCase.reader(setting.others))
        #expect(try await setting.property(without) != setting.expected)
        let settings = setting.others.merging([setting.key: setting.value]) { $1 }
        let configuration = try await SessionConfiguration(reading: SettingCase.reader(settings))
        #expect(try await setting.property(configuration) == setting.expected)
    }

    @Test(arguments: SettingCase.all)
    func aVariableOfTheEnvironmentDoesToo(_ setting: SettingCase) async throws {
        let settings = setting.others.merging([setting.key: setting.value]) { $1 }.mapValues(\.text)
        let configuration = try await SessionConfiguration(reading: SettingCase.environment(settings))
        #expect(try await setting.property(configuration) == setting.expected)
    }

    /// The documented defaults are those of the configuration. Defaults in words are not values.
    @Test(arguments: SettingCase.all)
    func theDocumentedDefaultChangesNothing(_ setting: SettingCase) async throws {
        let documented = try #require(SessionSetting.all.first { $0.key == setting.key })
        let isInWords = documented.defaultValue.contains(/\b(the|a|in|with|for)\b/)
        guard !documented.defaultValue.isEmpty, !isInWords else { return }
        let others = setting.others.mapValues(\.text)
        let without = try await SessionConfiguration(reading: SettingCase.environment(others))
        let settings = others.merging([setting.key: documented.defaultValue]) { $1 }
        let configuration = try await SessionConfiguration(reading: SettingCase.environment(settings))
        #expect(try await setting.property(configuration) == setting.property(without))
    }

    @Test func withoutSettingsTheDefaultsRemain() async throws {
        var defaults = SessionConfiguration()
        defaults.userAgent = "mine"
        defaults.tls.minimumVersion = .v1_3
        defaults.proxy.coolDown = .seconds(7)
        let settings: [String: SettingValue] = ["timeouts.idle": .int(5), "proxy.url": .string("http://proxy.example")]
        let configuration = try await SessionConfiguration(reading: SettingCase.reader(settings), defaults: defaults)
        #expect(configuration.userAgent == "mine")
        #expect(configuration.tls.minimumVersion == .v1_3)
        #expect(configuration.proxy.coolDown == .seconds(7))
        #expect(configuration.timeouts.idle == .seconds(5))
        #expect(configuration.timeouts.connect == .seconds(10))
    }

    @Test func anEmptyFieldIsNotSent() async throws {
        let settings: [String: SettingValue] = [
            "userAgent": .string(""), "accept": .string(""), "acceptLanguage": .string(""),
        ]
        let configuration = try await SessionConfiguration(reading: SettingCase.reader(settings))
        #expect([configuration.userAgent, configuration.accept, configuration.acceptLanguage] == [nil, nil, nil])
    }

    @Test func aStepThatIsDisabledIsRemoved() async throws {
        var defaults = SessionConfiguration()
        defaults.steps.cache = HTTPCache()
        defaults.steps.cookies = CookieJar()
        defaults.steps.circuitBreaker = CircuitBreaker()
        defaults.steps.intercept(with: RetryPolicy())
        let settings: [String: SettingValue] = [
            "cache.enabled": .bool(false), "cookies.enabled": .bool(false), "circuitBreaker.enabled": .bool(false),
            "retry.limit": .int(0), "retry.backoff": .int(1),
        ]
        let configuration = try await SessionConfiguration(reading: SettingCase.reader(settings), defaults: defaults)
        #expect(configuration.steps.cache == nil)
        #expect(configuration.steps.cookies == nil)
        #expect(configuration.steps.circuitBreaker == nil)
        #expect(configuration.steps.retriers.isEmpty && configuration.steps.adapters.isEmpty)
    }

    @Test func theProxiesOfTheEnvironmentAreAWord() async throws {
        let configuration = try await SessionConfiguration(
            reading: SettingCase.reader(["proxy.url": .string("environment")]))
        #expect("\(configuration.proxy)".hasPrefix("ProxyConfiguration.environment"))
    }

    @Test func theFirstProviderThatHasAValueDecides() async throws {
        let reader = ConfigReader(providers: [
            EnvironmentVariablesProvider(environmentVariables: ["HTTP_TIMEOUTS_CONNECT": "1"]),
            InMemoryProvider(values: ["http.timeouts.connect": 2, "http.timeouts.idle": 3]),
        ])
        let configuration = try await SessionConfiguration(reading: reader.scoped(to: "http"))
        #expect(configuration.timeouts == Timeouts(connect: .seconds(1), idle: .seconds(3)))
    }

    @Test func aFileHasSettingsInItsMembers() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let json = """
            {
              "http": {
                "baseURL": "https://api.example.com/v2/",
                "headers": ["X-API-Key: abc"],
                "timeouts": {"connect": 2, "idle": 0.5, "total": "none"},
                "engines": 2,
                "tls": {"authorityFiles": "ca.pem", "minimumVersion": "1.3"},
                "retry": {"limit": 4, "statusCodes": [502, 503]},
                "decodesContent": false
              }
            }
            """
        try Data(json.utf8).write(to: file)
        let path = ConfigReader(
            provider: InMemoryProvider(values: ["filePath": .init(.string(file.path), isSecret: false)]))
        let reader = ConfigReader(provider: try await FileProvider<JSONSnapshot>(config: path))
        let configuration = try await SessionConfiguration(reading: reader.scoped(to: "http"))
        #expect(try configuration.baseURL?.asURLString() == "https://api.example.com/v2/")
        #expect(configuration.defaultHeaders["X-API-Key"] == "abc")
        #expect(configuration.timeouts == Timeouts(connect: .seconds(2), idle: .seconds(0.5), total: nil))
        #expect(configuration.engines == .fixed(2))
        #expect(configuration.tls.authorities == .systemAnd([.path("ca.pem")]))
        #expect(configuration.tls.minimumVersion == .v1_3)
        #expect(configuration.steps.retriers.count == 1)
        #expect(configuration.decodesContent == false)
    }
}
#endif
