#if Configuration
import Trellis

/// The error of a setting that cannot be used.
public struct InvalidSetting: Error, Sendable, Hashable {
    /// The key of the setting as in ``SessionSetting/key``, without the scope of the reader.
    public let key: String
    /// The reason in words. The values of secret settings are not in it.
    public let reason: String

    init(_ key: String, reason: String) { (self.key, self.reason) = (key, reason) }

    /// Creates the error for a failure of the provider, or of the value.
    init(_ key: String, _ failure: any Error) {
        // The description of such an error may have the URL, which may be a secret.
        self.init(key, reason: (failure as? TrellisError)?.reason.description ?? "\(failure)")
    }
}

extension InvalidSetting: CustomStringConvertible {
    /// The failure as a sentence, with the key.
    public var description: String { "the setting \(key) cannot be used: \(reason)" }
}

/// The reason why the value of a setting cannot be used.
struct SettingProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
#endif
