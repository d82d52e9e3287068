/// One line that shows how far a transfer is. Says nothing where no terminal is, and nothing about short transfers.
public struct ProgressBar: Sendable {
    private let terminal: Terminal
    private let line: ProgressLine
    private let start = ContinuousClock.now
    private let patience: Duration
    private var lastDrawn: ContinuousClock.Instant?

    /// A bar that has not been drawn yet.
    ///
    /// - Parameters:
    ///   - title: What is transferred.
    ///   - total: How many bytes there are, where that is known.
    ///   - patience: How long a transfer may take before a bar appears.
    public init(
        _ title: String, total: Int64?, patience: Duration = .milliseconds(500), on terminal: Terminal = .error
    ) {
        line = ProgressLine(title: title, total: total, offset: 0)
        self.patience = patience
        self.terminal = terminal
    }

    /// Draws the bar, ten times a second at most.
    public mutating func update(_ bytes: Int64) {
        let now = ContinuousClock.now
        guard terminal.isTerminal, now - start >= patience else { return }
        if let lastDrawn, now - lastDrawn < .milliseconds(100) { return }
        lastDrawn = now
        terminal.print("\r\u{1B}[K" + line.text(bytes, after: now - start, on: terminal), terminator: "")
    }

    /// Draws the bar a last time, and ends its line.
    public mutating func finish(_ bytes: Int64) {
        guard lastDrawn != nil else { return }
        terminal.print("\r\u{1B}[K" + line.text(bytes, after: .now - start, on: terminal))
        lastDrawn = nil
    }

    /// Takes the bar away.
    public mutating func clear() {
        guard lastDrawn != nil else { return }
        terminal.print("\r\u{1B}[K", terminator: "")
        lastDrawn = nil
    }
}
