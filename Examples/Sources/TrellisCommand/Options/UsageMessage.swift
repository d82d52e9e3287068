import ArgumentParser
import CURLSyntax
import Glibc
import TerminalKit

extension Options {
    /// Parses the arguments of a request, in the spelling of this tool or of curl. Ends the process if they are wrong, or ask for help.
    static func parseOrEnd(_ arguments: [String]) -> Options {
        do {
            return try parse(try ArgumentTranslator.translate(arguments))
        } catch let failure as UsageFailure {
            end(with: ValidationError(failure.description))
        } catch {
            end(with: error)
        }
    }
}

extension ParsableArguments {

    /// Ends the process as `exit(withError:)` does, but without the suggestion of an option that is too different.
    static func end(with error: any Error) -> Never {
        let message = fullMessage(for: error)
        let text = UsageMessage.withoutFarSuggestion(message)
        guard text != message else { exit(withError: error) }
        Terminal.error.print(text)
        fflush(nil)
        Glibc.exit(exitCode(for: error).rawValue)
    }
}

/// The parser's messages about wrong arguments.
enum UsageMessage {
    /// Returns the message without its suggestion, if the option that was given and the suggested one have less than half of their
    /// characters in common, in the same order. The parser suggests any option in which at most three characters differ, even if the
    /// option that was given has no more than that.
    static func withoutFarSuggestion(_ message: String) -> String {
        let pattern = #/Unknown option '-+([^']+)'(\. Did you mean '-+([^']+)'\?)/#
        guard let match = message.firstMatch(of: pattern) else { return message }
        let (given, suggested) = (Array(match.output.1), Array(match.output.3))
        let common = (given.count + suggested.count - given.difference(from: suggested).count) / 2
        guard common * 2 < max(given.count, suggested.count) else { return message }
        let suggestion = match.output.2
        return String(message[..<suggestion.startIndex]) + message[suggestion.endIndex...]
    }
}
