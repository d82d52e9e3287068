#if Configuration
public import Configuration
public import TrellisCore

extension SessionConfiguration {
    /// Creates a configuration with settings from outside: from the environment, from files, or from any other provider.
    ///
    /// ```swift
    /// let config = ConfigReader(providers: [
    ///     EnvironmentVariablesProvider(),
    ///     try await FileProvider<JSONSnapshot>(filePath: "/etc/service.json"),
    /// ])
    /// let configuration = try await SessionConfiguration(reading: config.scoped(to: "http"))
    /// let session = Session(configuration: configuration)
    /// ```
    ///
    /// ``SessionSetting/all`` and <doc:Settings> list the settings. With the reader above, `timeouts.connect` is the variable
    /// `HTTP_TIMEOUTS_CONNECT`, or the member `connect` of `timeouts` of `http` in the file. The first provider that has a value decides.
    ///
    /// A setting that no provider has keeps its value in `defaults`, and so do the other values of a step when a setting changes one. A
    /// value that cannot be used is an error, and is not replaced by the default. A key that no setting has, such as a misspelled one, is
    /// not found, because a reader cannot list the keys of its providers.
    ///
    /// - Parameters:
    ///   - reader: The reader of the settings. Secret values, such as passwords, are marked as secret for its access reporter.
    ///   - defaults: The configuration to which the settings are applied; the defaults of ``/Trellis/SessionConfiguration`` unless given.
    /// - Throws: ``InvalidSetting`` for the first setting that cannot be used; `CancellationError` if a provider throws it in a cancelled
    ///   task.
    public init(reading reader: ConfigReader, defaults: SessionConfiguration = SessionConfiguration()) async throws {
        var draft = SettingsDraft(configuration: defaults)
        let reader = SettingReader(config: reader)
        for setting in SessionSetting.all {
            do {
                if try await setting.read(reader, &draft) { draft.given.insert(setting.key) }
            } catch let error as CancellationError {
                throw error
            } catch {
                throw InvalidSetting(setting.key, error).within(reader.scope)
            }
        }
        do throws(InvalidSetting) {
            self = try draft.completed()
        } catch {
            throw error.within(reader.scope)
        }
    }
}
#else
public import TrellisCore

extension SessionConfiguration {
    /// Creates a configuration with settings from outside, which needs the trait `Configuration` of the package.
    ///
    /// - Throws: Nothing without the trait.
    @available(*, unavailable, message: "enable the package's trait: .package(…, traits: [\"Configuration\"])")
    public init(reading reader: Any, defaults: SessionConfiguration = SessionConfiguration()) async throws {
        self = defaults
    }
}
#endif
