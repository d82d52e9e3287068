import FoundationEssentials

/// How a ``Cassette`` is used.
public enum CassetteMode: String, Sendable, Hashable, CaseIterable {
    /// Requests are replayed. A request that is not recorded fails, and so does every request if there is no file.
    case none
    /// Requests are recorded if there is no file. As soon as there is one, they are replayed as in ``none``, or as in ``new`` in the
    /// process that has recorded the file.
    case once
    /// Requests that are recorded are replayed, and the others are sent and added to the file.
    case new
    /// All requests are sent, and the file is replaced. Later transports of the same process add to it.
    case all

    /// The name of the environment variable for ``environment``: `TRELLIS_CASSETTES`.
    public static let variable = "TRELLIS_CASSETTES"

    /// The mode in the environment variable ``variable``; ``none`` if the variable is not set or names no mode.
    public static var environment: CassetteMode { value.flatMap(CassetteMode.init) ?? .none }

    /// The value of the variable if it names no mode; `nil` if it does, or is not set.
    static var unknownValue: String? { value.flatMap { CassetteMode(rawValue: $0) == nil ? $0 : nil } }

    private static var value: String? {
        guard let value = ProcessInfo.processInfo.environment[variable], !value.isEmpty else { return nil }
        return value
    }
}
