/// A line of a terminal that shows the progress of a transfer. Nothing is printed if there is no terminal, or if the transfer is short.
public struct ProgressBar: Sendable {
    private let terminal: Terminal
    private let line: ProgressLine
    private let start = ContinuousClock.now
    private let patience: Duration
    private var lastDrawn: ContinuousClock.Instant?

    /// Creates a bar that is not drawn yet.
    ///
    /// - Parameters:
    ///   - title: The name of the transfer.
    ///   - total: The size in bytes; `nil` if unknown.
    ///   - patience: The time for which a transfer may run before a bar appears.
    public init(
        _ title: String, total: Int64?, patience: Duration = .milliseconds(500), on terminal: Terminal = .error
    ) {
        line = ProgressLine(title: title, total: total, offset: 0)
        self.patience = patience
        self.terminal = terminal
    }

    /// Draws the bar, at most ten times per second.
    public mutating func update(_ bytes: Int64) {
        let now = ContinuousClock.now
        guard terminal.isTerminal, now - start >= patience else { return }
        if let lastDrawn, now - lastDrawn < .milliseconds(100) { return }
        lastDrawn = now
        terminal.print("\r\u{1B}[K" + line.text(bytes, after: now - start, on: terminal), terminator: "")
    }

    /// Draws the bar for the last time, and ends its line.
    public mutating func finish(_ bytes: Int64) {
        guard lastDrawn != nil else { return }
        terminal.print("\r\u{1B}[K" + line.text(bytes, after: .now - start, on: terminal))
        lastDrawn = nil
    }

    /// Removes the bar from the terminal.
    public mutating func clear() {
        guard lastDrawn != nil else { return }
        terminal.print("\r\u{1B}[K", terminator: "")
        lastDrawn = nil
    }
}
