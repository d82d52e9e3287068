#if Configuration
import Configuration
import Testing
import TrellisCore
import TrellisConfiguration

/// The secrets among the settings.
struct SecretSettingTests {
    /// The keys of secrets: credentials, and texts that may have some.
    private static let secrets: Set<String> = [
        "baseURL", "headers", "queryItems", "proxy.url", "proxy.username", "proxy.password", "proxy.script",
        "resolver.url", "tls.clientPassphrase",
    ]

    @Test func theListMarksTheSecrets() {
        #expect(Set(SessionSetting.all.filter(\.isSecret).map(\.key)) == Self.secrets)
    }

    @Test(arguments: SettingCase.all)
    func aSecretIsReadAsSuch(_ setting: SettingCase) async throws {
        let (events, continuation) = AsyncStream.makeStream(of: AccessEvent.self)
        let settings = setting.others.merging([setting.key: setting.value]) { $1 }
        let values = settings.map { (AbsoluteConfigKey(ConfigKey($0)), $1.configValue) }
        let provider = InMemoryProvider(values: Dictionary(uniqueKeysWithValues: values))
        let reporter = StreamReporter(events: continuation)
        _ = try await SessionConfiguration(reading: ConfigReader(provider: provider, accessReporter: reporter))
        continuation.finish()
        var marks: [Bool] = []
        for await event in events where event.metadata.key.components.joined(separator: ".") == setting.key {
            if let value = try? event.result.get() { marks.append(value.isSecret) }
        }
        #expect(marks == [Self.secrets.contains(setting.key)])
    }

    private struct StreamReporter: AccessReporter {
        let events: AsyncStream<AccessEvent>.Continuation

        func report(_ event: AccessEvent) { events.yield(event) }
    }

    @Test(
        arguments: [
            ("proxy.url", .string("http://ann:s3cret@host:port")), ("baseURL", .string("ann:s3cret@api.example.com")),
            ("headers", .strings(["s3cret"])), ("queryItems", .strings(["s3cret"])),
        ] as [(String, SettingValue)])
    func anErrorDoesNotHaveTheValue(_ key: String, _ value: SettingValue) async {
        let error = await #expect(throws: InvalidSetting.self) {
            try await SessionConfiguration(reading: SettingCase.reader([key: value]))
        }
        #expect(error?.key == key)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func theErrorOfAProxyDoesNotHaveItsPassword() async {
        let settings: [String: SettingValue] = [
            "proxy.url": .string("http://proxy.example"), "proxy.username": .string("ann"),
            "proxy.password": .string("s3cret\n"),
        ]
        let error = await #expect(throws: InvalidSetting.self) {
            try await SessionConfiguration(reading: SettingCase.reader(settings))
        }
        #expect(error?.key == "proxy.url")
        #expect(error?.description.contains("s3cret") == false)
    }
}
#endif
