import TrellisCore

/// Options of curl for a part of the settings, with remarks on what the options do not express.
struct CURLSettings: Equatable {
    /// The options, each with its argument.
    var options: [[String]] = []
    /// The details that the options do not express.
    var remarks: [String] = []

    /// Adds an option with its arguments.
    mutating func add(_ option: String...) { options.append(option) }

    /// Adds the options and remarks of another part.
    static func += (settings: inout CURLSettings, other: CURLSettings) {
        settings.options += other.options
        settings.remarks += other.remarks
    }
}

extension CURLCommand {
    /// Adds the options and remarks of a part of the settings.
    mutating func add(_ settings: CURLSettings) {
        for option in settings.options { add(option) }
        remarks += settings.remarks
    }
}
