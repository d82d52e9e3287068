import ArgumentParser
import CURLSyntax

/// The whole command line as shells complete it: the request, curl's names, and the subcommands.
struct CompletedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trellis", abstract: Options.configuration.abstract,
        version: Options.configuration.version, subcommands: Subcommands.completed)

    @OptionGroup var options: Options

    @Flag(name: names(takingValue: false), help: "As in curl.")
    var flags: Int

    @Option(name: names(takingValue: true), help: "As in curl.", completion: .file())
    var values: [String] = []

    /// Returns the completion script of a shell, bash, zsh or fish; the one of the user unless it is named.
    ///
    /// - Throws: `ValidationError` for another shell.
    static func script(for name: String?) throws -> String {
        guard let shell = name.map({ CompletionShell(rawValue: $0) }) ?? .autodetected() else {
            throw ValidationError("--generate-completion-script takes bash, zsh or fish.")
        }
        var script = completionScript(for: shell)
        guard let mark = passages[shell.rawValue], let place = script.firstRange(of: mark.place) else { return script }
        script.insert(contentsOf: mark.passage, at: place.lowerBound)
        // fish knows no dots in the names for its own parser, and would ask it forever.
        if shell == .fish { script.replace("'tlsv1.3' '", with: "'") }
        return script
    }

    /// What each script does before it looks for URLs, of which there may be any number: it passes on to a subcommand, which the parser's
    /// script takes for one of them.
    private static let passages = [
        "bash": (
            place: "    __trellis_offer_flags_options -1\n",
            passage: """
                case "${COMP_WORDS[1]}" in
                ws|gateway)
                    if [[ "${COMP_CWORD}" -gt 1 ]]; then
                        unparsed_words=("${unparsed_words[@]:1}")
                        "_trellis_${COMP_WORDS[1]}"
                        return
                    fi
                    ;;
                esac

            """
        ),
        "zsh": (
            place: "    _arguments -w -s -S : \"${arg_specs[@]}\" && ret=0\n",
            passage: """
                if (( CURRENT > 2 )) && [[ "${words[2]}" == (ws|gateway) ]]; then
                    shift words
                    (( CURRENT-- ))
                    "_trellis_${words[1]}"
                    return
                fi

            """
        ),
        "fish": (
            place: "__trellis_parse_subcommand -r 1 'X/",
            passage: """
            if contains -- "$unparsed_tokens[2]" ws gateway
                        set -a commands $unparsed_tokens[1]
                        set -e unparsed_tokens[1]
                    end
                    test (count $commands) -eq 1; or\u{20}
            """
        ),
    ]

    /// Returns the names of curl's options that the parser does not know.
    private static func names(takingValue takesValue: Bool) -> NameSpecification {
        let known = Manual.names(of: Options.self) + Manual.hidden
        return NameSpecification(
            ArgumentTranslator.names(takingValue: takesValue).filter { !known.contains($0) }.map { name in
                let letters = name.drop { $0 == "-" }
                guard name.utf8.count == 2, let letter = letters.first else { return .customLong(String(letters)) }
                return .customShort(letter)
            })
    }
}

extension Subcommands {
    /// The subcommands under the names that are typed.
    fileprivate static var completed: [any ParsableCommand.Type] {
        #if Gateway
        [CompletedConversation.self, CompletedGateway.self]
        #else
        [CompletedConversation.self]
        #endif
    }
}

private struct CompletedConversation: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ws", abstract: ConversationOptions.configuration.abstract)

    @OptionGroup var options: ConversationOptions
}

#if Gateway
private struct CompletedGateway: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway", abstract: GatewayCommand.configuration.abstract)

    @OptionGroup var options: GatewayCommand
}
#endif
