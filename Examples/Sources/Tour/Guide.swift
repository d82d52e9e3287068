import TerminalKit
import Trellis

/// A part of the tour, which shows one feature.
protocol Part: Sendable {
    /// The title, in a few words.
    var title: String { get }

    /// Runs the part and prints its measurements. Throws an error if the part did not work.
    func run(with guide: Guide, on server: TourServer) async throws
}

/// An expectation that was not met.
struct NotAsExpected: Error, CustomStringConvertible {
    let description: String
}

/// Throws ``NotAsExpected`` unless the condition holds.
func expect(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !isSo { throw NotAsExpected(description: otherwise()) }
}

/// The presenter of the parts. All parts use one session, as the parts of a program do.
struct Guide: Sendable {
    let session = Session()
    private let terminal = Terminal.output

    func begin(server: String) {
        let name = terminal.styled("Trellis \(TrellisRuntime.version)", .bold)
        terminal.print("\(name) on libcurl \(TrellisRuntime.libcurlVersion)")
        terminal.print(terminal.styled("A server in this process listens on \(server)", .faint))
    }

    /// Runs and shows one part. Returns whether the part worked.
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

    /// Prints an observation or a measurement.
    func say(_ text: String) { terminal.print("  \(text)") }

    func end(_ text: String, _ isGood: Bool) { terminal.print("\n" + terminal.styled(text, isGood ? .green : .red)) }

    /// Returns a progress bar, which shows nothing if there is no terminal.
    func progressBar(_ title: String, total: Int64) -> ProgressBar {
        ProgressBar("  " + title, total: total, patience: .zero, on: terminal)
    }
}
