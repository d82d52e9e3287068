import ArgumentParser
import CURLSyntax
import TerminalKit
import Trellis

/// The checks of options that several commands share, or that concern several options.
extension Options {
    /// Checks a number of seconds.
    static func require(_ name: String, _ seconds: Double?) throws {
        guard let seconds else { return }
        guard !(seconds < 0) else { throw ValidationError("\(name) cannot be negative.") }
        // The value is limited to about ten thousand years, so that every number of seconds is a valid Duration.
        guard seconds < 3e11 else { throw ValidationError("\(name) \(seconds) is no number of seconds.") }
    }

    /// Checks the seconds of `--deadline`: 0 would leave no time for anything.
    static func requireDeadline(_ seconds: Double?) throws {
        try require("--deadline", seconds)
        guard seconds != 0 else {
            throw ValidationError("--deadline must be more than 0; without the option, there is no limit.")
        }
    }

    /// The first of several arguments that cannot be an absolute URL; `nil` if there is none.
    var stray: String? { commandTarget.urls.first { CommandTarget.isWord($0) } }

    /// Whether the status and the header fields are printed before the body.
    var showsHead: Bool { include || head }

    /// Checks the options that print the header fields.
    func validateHead() throws {
        let name = head ? "--head" : "--include"
        guard !head || (method == nil && commandTarget.method == nil) else {
            throw ValidationError("--head and another method do not go together.")
        }
        guard !head || bodyOptions.isEmpty else {
            throw ValidationError("--head and \(bodyOptions.joined(separator: " and ")) do not go together.")
        }
        guard showsHead else { return }
        if case .file = place { throw ValidationError("\(name) and --output to a file do not go together.") }
        guard places.report == nil else { throw ValidationError("\(name) and --report do not go together.") }
        guard streaming.stream != .sse else { throw ValidationError("\(name) and --stream sse do not go together.") }
    }

    /// The warnings about options that have no effect in part.
    var warnings: [String] {
        var warnings: [String] = []
        if let user = credentials.user, credentials.auth != .bearer, user[...].cut(at: ":") == nil {
            warnings.append("--user has no colon, so that the password is empty")
        }
        if let condition = places.timeCondition, condition.field == nil {
            warnings.append("-z is ignored: '\(condition.text)' is neither a date nor a file")
        }
        for name in ["Content-Length", "Transfer-Encoding"]
        where headers.contains(where: { $0.name.lowercasedASCII() == name.lowercasedASCII() }) {
            warnings.append("the field \(name) of -H is ignored: it follows from the body")
        }
        if removedNames.contains(.init("Host") ?? .accept) {
            warnings.append("-H 'Host:' is ignored: every request has a host")
        }
        return warnings
    }

    /// Whether nothing but what was asked for is said.
    var isSilent: Bool { tools.silent && !tools.showError }

    /// Prints the warnings on standard error, each on a line.
    func printWarnings() {
        guard !isSilent else { return }
        for warning in warnings { Terminal.error.print(Terminal.error.styled("trellis: ", .magenta) + warning) }
    }
}

extension PinOptions {
    /// Checks that pins are not given for URLs without TLS, for which there is no certificate.
    ///
    /// - Parameter mayUpgrade: Whether the URLs may become those with TLS before they are requested. Those that do not are
    ///   refused when they are requested.
    func requireTLS(of urls: [String], mayUpgrade: Bool) throws {
        guard !pins.isEmpty, !mayUpgrade else { return }
        guard let scheme = ["http", "ws"].first(where: { scheme in urls.contains { $0.hasScheme(scheme) } }) else {
            return
        }
        throw ValidationError("--pin goes with \(scheme)s URLs: with \(scheme), there is no certificate.")
    }
}
