import ArgumentParser
import Glibc

/// A command of the tool that the first argument names: `trellis gateway …`. Without such a name, the tool sends a request.
protocol Subcommand: ParsableCommand {
    /// Runs the command, and returns its exit status.
    func perform() async -> CInt
}

/// The commands of the tool besides the sending of a request.
enum Subcommands {
    /// The commands, whose names begin with the tool's, as the parser's messages show them.
    static var all: [any Subcommand.Type] {
        #if Gateway
        [GatewayCommand.self, ConversationOptions.self]
        #else
        [ConversationOptions.self]
        #endif
    }

    /// Runs the command that the first of the tool's arguments names, and returns its exit status; `nil` if there is no such command. Ends
    /// the process if the other arguments are wrong.
    static func run(_ arguments: [String]) async -> CInt? {
        var arguments = arguments
        // `trellis help ws` is `trellis ws --help`.
        if arguments.first == "help", arguments.count < 3 {
            arguments = arguments.dropFirst() + ["--help"]
            if arguments.count == 1 { Options.exit(withError: CleanExit.helpRequest(Options.self)) }
        }
        do {
            if let text = try generated(for: arguments) {
                try? await StandardOutput.write(text)
                return ExitStatus.done
            }
        } catch {
            Options.end(with: error)
        }
        #if !Gateway
        if arguments.first == "gateway" {
            Options.exit(withError: ValidationError("This trellis was built without the gateway (the trait Gateway)."))
        }
        #endif
        guard let type = all.first(where: { $0.configuration.commandName == "trellis \(arguments.first ?? "")" })
        else { return nil }
        return await run(type, arguments)
    }

    /// Returns the text that is generated from the options: a manual page, or what a shell completes; `nil` if none was asked for.
    private static func generated(for arguments: [String]) throws -> String? {
        guard let first = arguments.first else { return nil }
        let shell = first[...].after("--generate-completion-script=").map(String.init) ?? arguments.dropFirst().first
        return switch first[...].before("=") {
        case "--generate-manual": try Manual.page()
        case "--generate-completion-script": try CompletedCommand.script(for: shell)
        default: nil
        }
    }

    private static func run<Command: Subcommand>(_ type: Command.Type, _ arguments: [String]) async -> CInt {
        do {
            guard let command = try Command.parseAsRoot(Array(arguments.dropFirst())) as? Command else {
                throw CleanExit.helpRequest(type)
            }
            return await command.perform()
        } catch {
            type.end(with: error)
        }
    }
}
