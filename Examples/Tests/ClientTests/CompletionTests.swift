import Testing

/// What shells complete, and the manual page: both follow from the options.
@Suite(.timeLimit(.minutes(60))) struct CompletionTests {
    /// Returns what bash completes at the end of a line.
    private func completions(of line: String) async throws -> [String] {
        let script = #"""
            source <("$trellis" --generate-completion-script bash)
            COMP_LINE="$1" COMP_POINT=${#1}
            read -ra COMP_WORDS <<<"$1"
            [[ "$1" != *" " ]] || COMP_WORDS+=("")
            COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
            _trellis trellis "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\n' "${COMPREPLY[@]}"
            """#
        let run = try await shell(script, [line])
        #expect(run.status == 0 && run.errors == "", "\(run.errors)")
        return run.lines.sorted()
    }

    @Test(arguments: [
        ("trellis --cach", ["--cache", "--cache-mode"]), ("trellis --data-u", ["--data-urlencode"]),
        ("trellis http://h/ --http 2", ["2", "2-only", "2-prior-knowledge"]), ("trellis --vers", ["--version"]),
        ("trellis w", ["ws"]), ("trellis ws --bin", ["--binary"]),
        ("trellis ws --cacert /etc/hostn", ["/etc/hostname"]),
        ("trellis http://ws --bin", [""]),
    ])
    func bashCompletes(_ line: String, _ wanted: [String]) async throws {
        let found = try await completions(of: line)
        #expect(found == wanted, "\(line)")
    }

    @Test func otherShellsHaveAScript() async throws {
        for (shell, text) in [("zsh", "#compdef trellis"), ("fish", "complete -c 'trellis'")] {
            let run = try await client(["--generate-completion-script", shell])
            #expect(try await client(["--generate-completion-script=\(shell)"]).text == run.text)
            #expect(run.status == 0 && run.text.contains(text))
            // Both pass on to the subcommands.
            #expect(run.text.contains(shell == "zsh" ? "shift words" : "ws gateway"), "\(shell)")
        }
        #expect(try await client(["--generate-completion-script", "fish"]).text.contains("'tlsv1.3' '") == false)
        try await expectUsageError(["--generate-completion-script", "nosh"], saying: "takes bash, zsh or fish")
    }

    @Test func theManualHasEveryOption() async throws {
        let run = try await client(["--generate-manual"])
        #expect(run.status == 0 && run.lines.first?.hasPrefix(".TH TRELLIS 1 ") == true)
        for name in ["-k", "--insecure", "--data-urlencode", "--subprotocol", "--max-time"] {
            #expect(run.text.contains(name.replacing("-", with: "\\-")), "\(name)")
        }
        #expect(!run.text.contains("generate\\-completion"))
        // The subcommands do not know curl's names.
        let others = run.text.split(separator: ".SH TRELLIS ").dropFirst()
        #expect(!others.isEmpty && others.allSatisfy { $0.contains("\\-\\-cacert") && !$0.contains("\\fB\\-k") })
        // No line of text is taken for a request of roff, and there is nothing but ASCII.
        #expect(run.output.allSatisfy { $0 < 0x80 })
        let warnings = try await shell(
            #"command -v groff >/dev/null || exit 0; "$trellis" --generate-manual | groff -man -ww -Tutf8 2>&1 >/dev/null"#
        )
        #expect(warnings.text == "")
    }
}
