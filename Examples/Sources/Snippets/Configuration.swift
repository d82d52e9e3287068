import Configuration
import Trellis
import TrellisConfiguration

func makeSession() async throws -> Session {
    let config = ConfigReader(providers: [
        EnvironmentVariablesProvider(),
        try await FileProvider<JSONSnapshot>(filePath: "/etc/fetcher.json", allowMissing: true),
    ])
    var defaults = SessionConfiguration()
    defaults.eventMonitors = [RequestLog()]
    do {
        let configuration = try await SessionConfiguration(reading: config.scoped(to: "http"), defaults: defaults)
        return Session(configuration: configuration)
    } catch let error as InvalidSetting {
        // the setting http.timeouts.connect cannot be used: a number or none is expected (…)
        print(error)
        throw error
    }
}

func checkFolderAndFile(of configuration: SessionConfiguration) async throws {
    try await configuration.cache?.open()
    if let cookies = configuration.cookies as? CookieFile {
        _ = await cookies.all
        if let failure = await cookies.failure { throw failure }
    }
}

func printSettings() {
    for setting in SessionSetting.all { print(setting.key, setting.type, setting.unit, setting.meaning) }
}
