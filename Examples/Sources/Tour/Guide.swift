import TerminalKit
import Trellis

/// One thing that is shown.
protocol Part: Sendable {
    /// What it is, in a few words.
    var title: String { get }

    /// Does it, says what was measured, and throws if it did not work.
    func run(with guide: Guide, on server: TourServer) async throws
}

/// Something is not as it should be.
struct NotAsExpected: Error, CustomStringConvertible {
    let description: String
}

/// Throws unless it is so.
func expect(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !isSo { throw NotAsExpected(description: otherwise()) }
}

/// Leads through the parts. All of them use one session, as the parts of a program do.
struct Guide: Sendable {
    let session = Session()
    private let terminal = Terminal.output

    func begin(server: String) {
        let name = terminal.styled("Trellis \(TrellisRuntime.version)", .bold)
        terminal.print("\(name) on libcurl \(TrellisRuntime.libcurlVersion)")
        terminal.print(terminal.styled("A server in this process listens on \(server)", .faint))
    }

    /// Shows one part; whether it worked.
    func show(_ part: some Part, on server: TourServer) async -> Bool {
        terminal.print("\n" + terminal.styled(part.title, .bold))
        let start = ContinuousClock.now
        do {
            try await part.run(with: self, on: server)
            let time = terminal.styled("(\((.now - start).forPeople))", .faint)
            terminal.print("  \(terminal.styled("✓", .green)) \(time)")
            return true
        } catch {
            terminal.print("  \(terminal.styled("✗ \(error)", .red))")
            return false
        }
    }

    /// Says what was seen or measured.
    func say(_ text: String) { terminal.print("  \(text)") }

    func end(_ text: String, _ isGood: Bool) { terminal.print("\n" + terminal.styled(text, isGood ? .green : .red)) }

    /// A progress bar for this terminal; it shows nothing elsewhere.
    func progressBar(_ title: String, total: Int64) -> ProgressBar {
        ProgressBar("  " + title, total: total, patience: .zero, on: terminal)
    }
}
