#if Configuration
import TrellisCore

/// The error of a setting that cannot be used.
public struct InvalidSetting: Error, Sendable, Hashable {
    /// The key of the setting as in ``SessionSetting/key``, without the scope of the reader.
    public let key: String
    /// The key with the scope of the reader, as providers have it: `http.timeouts.connect`. The variable of the environment is then
    /// `HTTP_TIMEOUTS_CONNECT`. A reader tells its scope in its description alone: a version of swift-configuration that words it in
    /// another way leaves the ``key``.
    public var scopedKey: String { scope.isEmpty ? key : "\(scope).\(key)" }
    /// The reason in words. The values of secret settings are not in it.
    public let reason: String
    /// The scope of the reader; empty if it has none.
    private(set) var scope = ""

    init(_ key: String, reason: String) { (self.key, self.reason) = (key, reason) }

    /// Creates the error for a failure of the provider, or of the value.
    init(_ key: String, _ failure: any Error) {
        // The description of such an error may have the URL, which may be a secret.
        self.init(key, reason: (failure as? TrellisError)?.reason.description ?? "\(failure)")
    }

    /// Returns the error of a reader with a scope.
    func within(_ scope: String) -> InvalidSetting {
        var error = self
        error.scope = scope
        return error
    }
}

extension InvalidSetting: CustomStringConvertible {
    /// The failure as a sentence, with the key and its scope.
    public var description: String { "the setting \(scopedKey) cannot be used: \(reason)" }
}

/// The reason why the value of a setting cannot be used.
struct SettingProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
#endif
